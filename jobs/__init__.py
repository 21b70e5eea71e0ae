"""The domain: job records, transitions, events, the store in Redis, blobs.

model/        frozen records: the request, the job, its reviews and events; their stored form
transitions/  pure decisions: (record, command, time) -> Change | Refusal
service       every command on a job; `commits` loads, decides and commits, again on a conflict
sweep         visits the jobs that are due
store/        jobs in Redis; each write is one script
redis/        keys, connections, scripts, channels
audit/        entries of the audit log, their chain, its signatures and its verification
queue/        hints over Celery, turns among tenants, admission
blobs/        immutable bytes by sha256; workspaces as path -> blob
retention     removes old jobs, and bytes without a reference
benchmarks    the port to the laboratory, which has exercises and statistics
budgets       spending limits; `counting` has the counts of a tenant's day
view/         jobs, days and recordings as JSON; patches, and their files to look at first
"""
