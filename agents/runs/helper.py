"""Runs of Fettle's own programs (`agents.sandbox_programs`) in a sandbox."""

from __future__ import annotations

from dataclasses import replace

from agents.attempt import Ports
from sandbox.protocol import MIB, Command, End, Limits, RunResult, SandboxUnavailable

SECONDS = 5.0
OUTPUT = 1 * MIB


def helper_limits(limits: Limits, *, large: bool = False) -> Limits:
    """No more time than a run, and more output. A program over much text (`large`), such as a
    repository, has all of a run's time."""
    seconds = limits.wall_seconds if large else min(SECONDS, limits.wall_seconds)
    return replace(limits, wall_seconds=seconds, output_bytes=OUTPUT)


async def run_helper(
    ports: Ports, command: Command, purpose: str, *, large: bool = False
) -> RunResult:
    """Run a helper program. Raises SandboxUnavailable, also if the sandbox (`purpose`, such as `of
    a page`) was killed from outside, which is neither the program's fault nor the model's."""
    limits = helper_limits(ports.limits, large=large or bool(command.layers))
    result = await ports.sandbox.run(command, limits)
    if result.end is End.KILLED:
        raise SandboxUnavailable(f"the sandbox {purpose} was killed from outside")
    return result
