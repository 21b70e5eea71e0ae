"""A worker that runs one program, given on its standard input, and may be killed.

python -m drills.attacks.environment.worker PYTHON NAME IMAGE ENGINE TLS RUNTIME
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from drills.attacks import backends
from drills.attacks.backends import Wanted
from drills.attacks.environment.baseline import BaselineSandbox, interpreter
from sandbox.protocol import Command, Limits, Sandbox


def words(name: str, wanted: Wanted) -> list[str]:
    """Its command line."""
    own = [sys.executable, "-m", __name__, str(wanted.python), name]
    return [*own, wanted.image, wanted.engine, wanted.tls, wanted.runtime]


async def _run(sandbox: Sandbox, code: str) -> None:
    await sandbox.run(Command.python(code), Limits(wall_seconds=30.0))


def main() -> None:
    """Run what comes on standard input; see the module."""
    python, name, *rest = sys.argv[1:]
    wanted = Wanted(Path(python), *rest)
    sandbox: Sandbox
    if name == "baseline":
        sandbox = BaselineSandbox(interpreter(wanted.python))
    else:
        sandbox = backends.backend(name, wanted).make()
    asyncio.run(_run(sandbox, sys.stdin.read()))


if __name__ == "__main__":
    main()
