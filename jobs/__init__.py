"""The domain: job record, lifecycle, events, the store in Redis, artifacts.

lifecycle   pure: (record, command, time) -> Change | Refusal
operations  what the house may do to a job; decides, commits, decides again on conflict
store       jobs in Redis, each write one script
events      past-tense facts about a job, gapless
blobs       immutable bytes by sha256; manifest: a workspace as path -> blob
hints       the Celery message that says "look at this job", and nothing else
"""
