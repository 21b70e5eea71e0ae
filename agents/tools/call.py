"""What the body of a tool gets, and what it returns."""

from __future__ import annotations

from typing import Any

from langgraph.prebuilt import ToolRuntime

from agents.calls.call_key import for_reply
from agents.ports import Ports
from agents.tools.trace import Trace, runs_in, traces

Runtime = ToolRuntime[Any, Any]
"""Its context is Ports. With that type pydantic would build a schema of the ports."""

Answer = tuple[str, Trace]
"""The text for the model, and the trace of the call."""


def next_run(runtime: Runtime) -> int:
    """The number of the run that this call makes; the same after a crash.

    It counts the job's runs before this pass, those of earlier replies, and those of this reply's
    earlier calls. Parallel branches share the numbers: each of three takes every third.
    """
    ports: Ports = runtime.context
    state = runtime.state
    messages = [*state["messages"], *ports.sequencer.answers(for_reply(state).key())]
    made = len(runs_in(traces(messages)))
    return int(state["runs_before"]) + made * int(state["run_number_step"]) + 1
