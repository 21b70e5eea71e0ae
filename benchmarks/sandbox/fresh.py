"""Our side: the same program in a fresh room."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.sandbox.programs import Program
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Command, Limits

LIMITS = Limits(wall_seconds=60.0, cpu_seconds=60)


@dataclass(frozen=True, slots=True)
class Fresh:
    """Runs of one backend."""

    sandbox: LocalSandbox | DockerSandbox

    async def run(self, program: Program) -> float:
        """One run, from the call to the answer with the file in it; returns its seconds."""
        begun = time.perf_counter()
        result = await self.sandbox.run(Command.python(program.code), LIMITS)
        seconds = time.perf_counter() - begun
        assert result.succeeded, (result.end, result.exit_code, result.stderr.text)
        program.check(result.stdout.text, dict(result.changed))
        return seconds
