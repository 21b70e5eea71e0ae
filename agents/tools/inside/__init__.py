"""Programs of Fettle that run inside a sandbox. Each is sent as text and imports nothing of
Fettle."""

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
"""An interpreter that imports nothing from the files in its directory."""

SECONDS = 5.0
OUTPUT = 1 * MIB


def helper_limits(limits: Limits, *, large: bool = False) -> Limits:
    """No more time than a run, and more output. A program over a repository, which can be `large`,
    has all of a run's time."""
    seconds = limits.wall_seconds if large else min(SECONDS, limits.wall_seconds)
    return replace(limits, wall_seconds=seconds, output_bytes=OUTPUT)


async def run_helper(ports: Ports, command: Command, purpose: str) -> RunResult:
    """Run a helper program. Raises SandboxUnavailable, also if the sandbox (`purpose`, such as `of
    a page`) was killed from outside, which is neither the program's fault nor the model's."""
    limits = helper_limits(ports.limits, large=bool(command.layers))
    result = await ports.sandbox.run(command, limits)
    if result.end is End.KILLED:
        raise SandboxUnavailable(f"the sandbox {purpose} was killed from outside")
    return result
