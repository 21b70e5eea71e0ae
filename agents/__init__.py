"""The agents: a LangGraph graph from a task to an answer that rests on runs.

graph       its shape; `nodes/` do, `routing` decides, `state` is what a checkpoint holds
ports       what it needs from outside; `memory` has a twin of each
passing     a pass of the executor: LangChain's loop with `middleware/` and `tools/`
context/    what of a request a model is sent: trimmed for its price, cut to the model's context
failures/   why a run failed, what the model reads of it, and when a stronger model takes over
evidence/   the verification that a verdict rests on, the verdict, the best revision
checks/     acceptance checks, and their judge
branches/   steps of a plan that go side by side
router      which models a job gets that leaves the choice open
edits       one exact replacement in a text
models/     naming, building, asking and pricing chat models; playing `recordings/`
prompts/    what models read

Knows the sandbox by its protocol, and no service around it.
"""
