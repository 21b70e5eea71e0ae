"""A worker that runs one program, given on its standard input, and may be killed.

python -m drills.attacks.environment.worker PYTHON NAME IMAGE ENGINE TLS RUNTIME
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from drills.attacks import backends
from drills.attacks.backends import BackendOptions
from drills.attacks.environment.baseline import BaselineSandbox, interpreter
from sandbox.protocol import Command, Limits, Sandbox


def command_line(name: str, options: BackendOptions) -> list[str]:
    """Its command line."""
    own = [sys.executable, "-m", __name__, str(options.python), name]
    return [*own, options.image, options.engine, options.tls, options.runtime]


async def _run(sandbox: Sandbox, code: str) -> None:
    await sandbox.run(Command.python(code), Limits(wall_seconds=30.0))


def main() -> None:
    """Run what comes on standard input; see the module."""
    python, name, *rest = sys.argv[1:]
    options = BackendOptions(Path(python), *rest)
    sandbox: Sandbox
    if name == "baseline":
        sandbox = BaselineSandbox(interpreter(options.python))
    else:
        sandbox = backends.backend(name, options).make()
    asyncio.run(_run(sandbox, sys.stdin.read()))


if __name__ == "__main__":
    main()
