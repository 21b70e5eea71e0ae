"""What prompts say of the sandbox's environment.

Why: docs/decisions/0051-prompts-name-what-is-there.md
"""

from __future__ import annotations

import json

from agents.ports.environment import Environment
from agents.runs.helper import helper_limits
from agents.sandbox_programs import source
from sandbox.protocol import Command, Limits, Sandbox

MOST_PACKAGES = 40


async def describe(sandbox: Sandbox, limits: Limits) -> Environment:
    """What the sandbox's interpreter says of itself; the default if it says nothing.

    Raises what the sandbox raises.
    """
    argv = ("python", "-I", "-c", source("environment"))
    result = await sandbox.run(Command(argv), helper_limits(limits))
    if not result.succeeded:
        return Environment()
    found = json.loads(result.stdout.text)
    packages = found["packages"]
    if (more := len(packages) - MOST_PACKAGES) > 0:
        packages = [*packages[:MOST_PACKAGES], f"{more} more (importlib.metadata lists them)"]
    return Environment(
        found["python"],
        tuple(packages),
        tuple(found["programs"]),
        tuple(found["runners"]),
        found["digest"],
    )
