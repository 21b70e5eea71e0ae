"""What another runtime than the engine's own must show before it is relied on: fifty runs.

A build of gVisor was seen to fail 6 of 45 runs: a failure that would be reported as the code's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sandbox.docker.engine import EngineLost
from sandbox.protocol import Command, RunResult, SandboxUnavailable

RUNS = 50
AT_ONCE = 4
_ANSWER = "499500\n"
COMMAND = Command.python(
    "import os\nopen('seen', 'w').write(str(os.getpid()))\nprint(sum(range(1000)))"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What was tried out: another version of any of it is tried out again."""

    runtime: str
    engine: str
    image: str


async def require(subject: Subject, run: Callable[[], Awaitable[RunResult]]) -> None:
    """Raises SandboxUnavailable with the count where not each of `RUNS` runs is as it must be."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def fault() -> str | None:
        async with turns:
            return await _fault(run)

    faults = [text for text in await asyncio.gather(*(fault() for _ in range(RUNS))) if text]
    if faults:
        raise SandboxUnavailable(
            f"the runtime {subject.runtime} failed {len(faults)} of {RUNS} runs in its self-test, "
            f"the last so: {faults[-1]}. Use another version of it, or the engine's own runtime"
        )


async def _fault(run: Callable[[], Awaitable[RunResult]]) -> str | None:
    """What is wrong with one run, in words."""
    try:
        result = await run()
    except EngineLost:
        raise
    except SandboxUnavailable as error:
        return str(error)
    if result.succeeded and result.stdout.text == _ANSWER and list(result.changed) == ["seen"]:
        return None
    return f"{result.end}: {result.stderr.text[-300:]}"
