"""Celery workers: an attempt claims a job, runs its graph, and pauses or finishes the job.

Read these modules in this order:

main          the process: Celery's solo pool in the main thread takes hints ...
engine        ... and an event loop in a thread of its own works on the jobs
slots         the jobs that this process works on: claim, stop, drain
attempt       one try at one job; every exception becomes a change of the record here
graph_runner  the job's graph, from its checkpoint to its next pause or its end
job_ending    the end of a job: its result, its stored change and its delivery

They use:

context       the parts of a process, from settings: store, models, sandboxes, tools, files
ports         the ports of one attempt, from those parts
benchmark     a benchmark's look at its exercises, and `benchmark_jobs`, the jobs of these
ledger        the records of one attempt: written in order, and fenced by its epoch
resumption    the point at which a graph continues
results       the result of a job, from the outcome of its graph
failures      what an exception means for the job, and for this process
isolation     jobs that crashed twice run in processes of their own
readiness     whether the sandbox, the storage and the default model work
store         Redis as a worker uses it
adapters/     implementations of `agents.ports`, over `jobs` and `sandbox`
health        whether this worker is alive and takes jobs, and the port that serves it
metrics       metrics for Prometheus
background/   heartbeat, announcement, sweeper, retention, search index, webhooks
checkpoints/  LangGraph's saver on plain Redis
egress/       guarded HTTP for pages, packages and webhooks, by the operator's lists
repositories/ git repositories that jobs work on: commits, layers, patches
delivery/     approved changes as branches and pull requests
"""
