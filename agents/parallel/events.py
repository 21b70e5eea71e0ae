"""Events for the steps of a wave. They are emitted when the wave before it ends, and so are visible
at once; a branch's own events wait for its first call."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.runtime import ExecutionInfo

from agents.attempt import Ports
from agents.calls.call_key import call_key
from agents.ports import Event


async def emit_started(
    ports: Ports, info: ExecutionInfo | None, wave: Sequence[int], revision: int
) -> None:
    """Emit `step_started` for each step of a wave, from the node that sends the branches."""
    for step in wave:
        data = {"step": step, "revision": revision}
        await ports.events.emit(Event(call_key(info, step), "step_started", data))
