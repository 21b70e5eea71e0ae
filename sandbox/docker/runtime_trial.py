"""A self-test of fifty runs for runtimes other than the engine's default.

A build of gVisor failed 6 of 45 runs, and such failures would be reported as failures of the code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sandbox.docker.engine import EngineLost
from sandbox.protocol import Command, RunResult, SandboxUnavailable

RUNS = 50
MAX_PARALLEL = 4
_EXPECTED_OUTPUT = "499500\n"
COMMAND = Command.python(
    "import os\nopen('seen', 'w').write(str(os.getpid()))\nprint(sum(range(1000)))"
)


@dataclass(frozen=True, slots=True)
class TestedRuntime:
    """A runtime, with the versions of engine and image that it was tested with."""

    runtime: str
    engine: str
    image: str


async def require_reliable(runtime: TestedRuntime, run: Callable[[], Awaitable[RunResult]]) -> None:
    """Call `run` `RUNS` times, which runs `COMMAND`. Raises SandboxUnavailable with the number of
    failures unless each result is the expected one.
    """
    semaphore = asyncio.Semaphore(MAX_PARALLEL)

    async def find_fault() -> str | None:
        async with semaphore:
            return await _find_fault(run)

    faults = [
        fault for fault in await asyncio.gather(*(find_fault() for _ in range(RUNS))) if fault
    ]
    if faults:
        raise SandboxUnavailable(
            f"the runtime {runtime.runtime} failed {len(faults)} of {RUNS} runs in its self-test, "
            f"the last with: {faults[-1]}. Use another version of it, or the engine's own runtime"
        )


async def _find_fault(run: Callable[[], Awaitable[RunResult]]) -> str | None:
    """Run once; returns the fault of the result, or None."""
    try:
        result = await run()
    except EngineLost:
        raise
    except SandboxUnavailable as error:
        return str(error)
    if (
        result.succeeded
        and result.stdout.text == _EXPECTED_OUTPUT
        and list(result.changed) == ["seen"]
    ):
        return None
    return f"{result.end}: {result.stderr.text[-300:]}"
