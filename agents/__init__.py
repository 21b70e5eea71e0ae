"""The agents: a LangGraph graph from a task to an answer that rests on runs.

graph       its shape; `nodes/` do, `routing` decides, `state` is what a checkpoint holds
ports       what it needs from outside; `memory` has a twin of each
passing     a pass of the executor: LangChain's loop with `middleware/` and `tools/`
trimming    what of a long conversation a model sees again; `fitting`: within its context
repair/     why a run failed, and whether the next one cured it; `mending` tells the model
evidence    what the runs show; `judgement`: the critic's word as far as that bears it
checks/     acceptance checks, and their judge
branches/   steps of a plan that go side by side
edits       one exact replacement in a text
models/     naming, building, asking and pricing chat models; playing `recordings/`
prompts/    what models are told

Knows the sandbox by its protocol, and no house around it.
"""
