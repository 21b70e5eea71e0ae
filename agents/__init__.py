"""The agents: a LangGraph graph from a task to an answer that rests on runs.

graph/       the graph's shape, state, routes, input and outcome
nodes/       what each node does, one file a node
executor/    LangChain's agent loop with middleware around its calls
calls/       model and tool calls that are made once, whatever crashes; the router
tools/       the executor's tools, one file a tool
runs/        how a program is run, the record of it, its report
sandbox_programs/  Fettle's own programs that run inside a sandbox
evidence/    the verification that a verdict rests on, the verdict, the best revision
failures/    the class and the cause of a failed run
repair/      what the model reads of a failed run, when a stronger model takes over
checks/      acceptance checks, and their judge
parallel/    steps of a plan that are taken side by side
context/     what of a conversation goes to a model: trimmed for price, cut to the context
prompts/     what models read
models/      naming, building and calling chat models; errors, retry, fallback
spending/    budget, prices, rate limit
recordings/  recording a job's model calls, and playing them
ports/       what the graph needs from outside: protocols and dataclasses
attempt      the ports of one attempt, which every node and tool gets
state        the graph's state, and what is stored in it

Knows the sandbox by its protocol, and nothing of the service around it.
"""
