"""What a tool's body is handed, and what it answers with."""

from __future__ import annotations

from typing import Any

from langgraph.prebuilt import ToolRuntime

from agents.calls.call_key import for_reply
from agents.ports import Ports
from agents.tools.trace import Trace, runs_in, traces

Runtime = ToolRuntime[Any, Any]
"""Its context is Ports; said so here, pydantic would try to build a schema of them."""

Answer = tuple[str, Trace]
"""What the model is told, and what the call leaves besides."""


def next_run(runtime: Runtime) -> int:
    """The number of the run that this call makes: the same when it is made again after a crash.

    The job's runs before this pass, those of earlier replies in it, and those of this reply's
    earlier calls, whichever of the tools made them. Branches that go side by side share the numbers
    out among themselves: each takes every third, where there are three.
    """
    ports: Ports = runtime.context
    state = runtime.state
    earlier = len(runs_in(traces(state["messages"])))
    mine = earlier + ports.sequencer.runs(for_reply(state).key())
    return int(state["runs_before"]) + mine * int(state["run_number_step"]) + 1
