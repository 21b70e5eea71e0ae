"""The agents: a LangGraph graph from a task to an answer that rests on runs.

The layers, highest first. A module imports only modules of lower layers; `pyproject.toml` has the
contract.

graph/       the graph's shape, routes, input and outcome; the trial of a model
nodes/       what each node does
critic/      the critic's request and its tools
executor/    LangChain's agent loop with middleware around its calls
evidence/    the verification that a verdict rests on, the verdict, the best revision
tools/       the executor's tools
checks/      acceptance checks, and their judge
repair/      hints after a failed run, and when a stronger model takes over
parallel/    steps of a plan that run at the same time
runs/        how a program is run, the record of it, its report
failures/    the class and the cause of a failed run
layout/      how a project's own modules can be imported
sandbox_programs/  Fettle's own programs that run inside a sandbox
calls/       the journal: model and tool calls that are made once, also after a crash; the router
attempt      the ports of one attempt, which every node and tool gets
context/     which parts of a conversation a model gets: trimmed for price, cut to its context
prompts/     the texts of the requests to models
spending/    budget, prices, rate limit
models/      naming, building and calling chat models; errors, retry, fallback
recordings/  recording a job's model calls, and playing them
ports/       the graph's needs from outside: protocols and dataclasses
state, errors, history, paths, texts, ...  plain data and functions

Of the project's other packages, agents imports only `sandbox`, without its backends.
"""
