"""What another runtime than the engine's own must show before it is relied on: fifty runs.

A build of gVisor was seen to fail 6 of 45 runs: a failure that would be told as the code's own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sandbox.protocol import Command, RunResult, SandboxUnavailable

RUNS = 50
_ANSWER = "499500\n"
COMMAND = Command.python(
    "import os\nopen('seen', 'w').write(str(os.getpid()))\nprint(sum(range(1000)))"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What was tried out: another version of any of it is tried anew."""

    runtime: str
    engine: str
    image: str


async def require(subject: Subject, run: Callable[[], Awaitable[RunResult]]) -> None:
    """Raises SandboxUnavailable with the count where not each of `RUNS` runs is as it must be."""
    failed, last = 0, ""
    for _ in range(RUNS):
        try:
            result = await run()
        except SandboxUnavailable as error:
            failed, last = failed + 1, str(error)
            continue
        if (
            not result.succeeded
            or result.stdout.text != _ANSWER
            or list(result.changed) != ["seen"]
        ):
            failed, last = failed + 1, f"{result.end}: {result.stderr.text[-300:]}"
    if failed:
        raise SandboxUnavailable(
            f"the runtime {subject.runtime} failed {failed} of {RUNS} runs in its self-test, the "
            f"last so: {last}. Use another version of it, or the engine's own runtime"
        )
