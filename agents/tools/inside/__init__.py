"""Programs that run inside a room. Each is handed over as text: it may import nothing of ours."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from agents.ports import Ports
from sandbox.protocol import MIB, Command, End, Limits, RunResult, SandboxUnavailable

_HERE = Path(__file__).parent


@cache
def source(name: str) -> str:
    """The text of the program in `NAME.py`."""
    return (_HERE / f"{name}.py").read_text()


ARGV = ("python", "-I", "-S")
"""An interpreter that imports nothing from the files that are there."""

SECONDS = 5.0
OUTPUT = 1 * MIB


def helper_limits(limits: Limits) -> Limits:
    """It takes no longer than a run, and what it tells need not be cut as a run's output."""
    return replace(limits, wall_seconds=min(SECONDS, limits.wall_seconds), output_bytes=OUTPUT)


async def run_helper(ports: Ports, command: Command, purpose: str) -> RunResult:
    """What became of it. Raises SandboxUnavailable, also where the room (`of a page`) was killed
    from outside: that is neither the program's doing nor the model's.
    """
    result = await ports.sandbox.run(command, helper_limits(ports.limits))
    if result.end is End.KILLED:
        raise SandboxUnavailable(f"the room {purpose} was killed from outside")
    return result
