"""Runs Fettle's own programs (`agents.sandbox_programs`) in a sandbox.

ADR 51 has the reason why prompts name the sandbox's environment.
"""

from __future__ import annotations

import json
from dataclasses import replace

from agents.attempt import Ports
from agents.ports.environment import SandboxEnvironment
from agents.sandbox_programs import source
from sandbox.protocol import MIB, Command, End, Limits, RunResult, Sandbox, SandboxUnavailable

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
    limits = helper_limits(ports.limits, large=large or bool(command.trees))
    result = await ports.sandbox.run(command, limits)
    if result.end is End.KILLED:
        raise SandboxUnavailable(f"the sandbox {purpose} was killed from outside")
    return result


MOST_PACKAGES = 40


async def describe(sandbox: Sandbox, limits: Limits) -> SandboxEnvironment:
    """The environment of the sandbox, as its interpreter describes it; the default environment if
    the interpreter fails. Raises the sandbox's errors.
    """
    argv = ("python", "-I", "-c", source("environment"))
    result = await sandbox.run(Command(argv), helper_limits(limits))
    if not result.succeeded:
        return SandboxEnvironment()
    description = json.loads(result.stdout.text)
    packages = description["packages"]
    if (more := len(packages) - MOST_PACKAGES) > 0:
        packages = [*packages[:MOST_PACKAGES], f"{more} more (importlib.metadata lists them)"]
    return SandboxEnvironment(
        description["python"],
        tuple(packages),
        tuple(description["programs"]),
        tuple(description["runners"]),
        description["digest"],
    )
