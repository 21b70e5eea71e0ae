"""The domain: job record, transitions, events, the store in Redis, artifacts.

model/        what was asked, what stands, what happened: frozen values, and their stored form
transitions/  pure: (record, command, time) -> Change | Refusal
service       every command on a job: loads, decides, commits, decides again on conflict
commits       that loop; sweep: visits the jobs that are due
store/        jobs in Redis, each write one script; redis/: keys, connections, scripts, channels
queue/        hints over Celery, turns among tenants, admission
blobs/        immutable bytes by sha256; workspaces as path -> blob; retention removes them
budgets       what may be spent; counting: what a change adds to its tenant's day
outbox        what a webhook is sent
view/         jobs, days and recordings as they are shown
"""
