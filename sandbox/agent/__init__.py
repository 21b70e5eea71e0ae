"""The agent: code that runs inside a sandbox before the job's code. It is read from `/agent`.

The host does not trust the agent, because the job's code has the agent's uid and may kill or stop
it.

Each sandbox imports these modules anew. They use the standard library only, without its slow
modules: dataclasses, typing, pathlib, json and socket take 30 ms together, four times as long as
the start of the interpreter.
"""
