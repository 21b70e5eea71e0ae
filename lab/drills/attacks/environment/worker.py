"""A worker that runs one program from its standard input, and that may be killed.

python -m lab.drills.attacks.environment.worker NAME
"""

from __future__ import annotations

import asyncio
import sys

from lab.drills.attacks import backends
from lab.drills.attacks.environment.baseline import BaselineSandbox, interpreter
from sandbox.protocol import Command, Limits, Sandbox
from settings.sandbox import SandboxSettings


async def _run(sandbox: Sandbox, code: str) -> None:
    await sandbox.run(Command.python(code), Limits(wall_seconds=30.0))


def main() -> None:
    """Run the program from standard input; see the module."""
    name = sys.argv[1]
    sandbox: Sandbox
    if name == "baseline":
        sandbox = BaselineSandbox(interpreter(SandboxSettings().sandbox_python))
    else:
        sandbox = backends.backend(name).make()
    asyncio.run(_run(sandbox, sys.stdin.read()))


if __name__ == "__main__":
    main()
