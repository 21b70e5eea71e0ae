"""The domain: job record, lifecycle, events, the store in Redis, artifacts.

lifecycle   pure: (record, command, time) -> Change | Refusal
operations  what the house may do to a job; decides, commits, decides again on conflict
store       the port; redis_store and memory_store are its two forms, over redis_records and
            memory_records: the half of each that is about one job
events      past-tense facts about a job, gapless
blobs       immutable bytes by sha256; manifest: a workspace as path -> blob
hints       the Celery message that says "look at this job", and nothing else
"""
