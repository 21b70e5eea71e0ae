"""Which steps of a plan begin, told where the wave before them has ended: that is on record at
once, while what a branch says itself waits for its first call."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.runtime import ExecutionInfo

from agents.calls.call_key import place
from agents.ports import Fact, Ports


async def tell_started(
    ports: Ports, info: ExecutionInfo | None, wave: Sequence[int], revision: int
) -> None:
    """Emit `step_started` for each step of a wave, from the node behind which it goes off."""
    for step in wave:
        data = {"step": step, "revision": revision}
        await ports.events.emit(Fact(place(info, step), "step_started", data))
