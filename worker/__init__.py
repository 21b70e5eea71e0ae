"""Celery workers: one Attempt at a job is claim, run the graph, pause or finish.

main         a worker process: Celery's solo pool in the main thread takes hints ...
process      ... and an event loop in a thread of its own works on the jobs
context      the parts that this work needs, from settings: store, sandbox, models, tools, limits
attempts     the jobs this process holds: slots, stop, drain
attempt      one try at one job: the outermost boundary around ...
graph_runner   ... its graph, from its checkpoint to its next pause or its end
resumption   the point at which a graph continues
outcome      the next state of a job after its attempt has ended or raised
isolation    jobs that crashed twice run in processes of their own
ledger       everything an attempt puts on record, in order and fenced by its epoch
abort        ends a process that can no longer be relied on
store        Redis as a worker uses it, once it answers and is fit
adapters/    implementations of `agents.ports`, over `jobs` and `sandbox`
background/  heartbeat and announcement, sweeper, retention, search index, cancellations
checkpoints/   LangGraph's saver on plain Redis
metrics/     figures for Prometheus, and the port that serves them
egress/      guarded HTTP for pages, packages and webhooks, by the operator's lists
repositories/  git repositories that jobs work on: commits, layers, patches
"""
