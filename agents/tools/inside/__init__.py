"""Programs of Fettle that run inside a sandbox. Each is sent as text and imports nothing of
Fettle."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.protocol import MIB, Command, End, Limits, RunResult, SandboxUnavailable

if TYPE_CHECKING:
    from agents.ports import Ports

_HERE = Path(__file__).parent


@cache
def source(name: str) -> str:
    """The text of the program in `NAME.py`."""
    return (_HERE / f"{name}.py").read_text()


def pth_line(name: str, **variables: object) -> str:
    """A line of a `.pth` file that executes the program in `NAME.py`, which finds the `variables`
    defined. `site` executes a line only if it begins with an import."""
    defined = {"__name__": f"fettle_{name}", **variables}
    return f"import sys; exec({source(name)!a}, {defined!a})"


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
