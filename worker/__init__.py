"""Celery workers: one Attempt at a job is claim, drive the graph, pause or finish.

__main__     a worker process: Celery's solo pool in the main thread takes hints ...
engine       ... and an event loop in a thread of its own works on the jobs
attempts     the jobs this process holds: slots, stop, drain
attempt      one try at one job: the wall around ...
drive        ... its graph, from where it stands to its next pause or its end
isolation    jobs that crashed twice run in processes of their own
store        Redis as a worker uses it, once it answers and is fit
ledger       everything an attempt puts on record, in order and fenced by its epoch
leases       one thread renews every lease of the process and announces the worker
cancellations  stops what a client has cancelled
sweeper      due jobs without a hint, leases that ran out
checkpoints  LangGraph's saver on plain Redis
ports/       what `agents.ports` asks for, over `jobs`
metrics/     figures for Prometheus, and the port that serves them
packages/    wheels for jobs, by an operator's list; reach/: pages, by his list of hosts
webhooks/    sends what is in the outbox
"""
