"""The drill: each program in a fresh sandbox, then each in a bare child process, as many at a
time.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.sources.from_humaneval import Problem
from sandbox.protocol import Command, Limits, Sandbox

LIMITS = Limits(wall_seconds=60.0, cpu_seconds=60)


@dataclass(frozen=True, slots=True)
class Failure:
    """A solution that did not pass, and the end of what it said."""

    task_id: str
    why: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """`seconds` for all of them in sandboxes, `bare_seconds` for the same in bare processes."""

    tasks: int
    passed: int
    seconds: float
    bare_seconds: float
    failures: tuple[Failure, ...]

    @property
    def ratio(self) -> float:
        """Sandboxes over bare."""
        return self.seconds / self.bare_seconds


async def drill(
    sandbox: Sandbox, python: Path, folder: Path, problems: Sequence[Problem], together: int
) -> Outcome:
    """Run all, `together` at a time. `python` and `folder` are the bare processes' own."""
    await sandbox.run(Command.python("pass"), LIMITS)  # what is made once is not counted
    failures: list[Failure] = []

    async def in_a_sandbox(problem: Problem) -> None:
        result = await sandbox.run(Command.python(problem.program()), LIMITS)
        if not result.succeeded:
            said = result.stderr.text.strip().splitlines()[-1:] or [""]
            failures.append(Failure(problem.task_id, f"{result.end}: {said[0]}"))

    async def bare(problem: Problem) -> None:
        await asyncio.to_thread(_bare, python, folder, problem.program())

    seconds = await _all(in_a_sandbox, problems, together)
    bare_seconds = await _all(bare, problems, together)
    return Outcome(
        len(problems),
        len(problems) - len(failures),
        round(seconds, 2),
        round(bare_seconds, 2),
        tuple(sorted(failures, key=lambda failure: failure.task_id)),
    )


async def _all(
    run: Callable[[Problem], Awaitable[None]], problems: Sequence[Problem], together: int
) -> float:
    coming = iter(problems)

    async def line() -> None:
        for problem in coming:
            await run(problem)

    begun = time.perf_counter()
    await asyncio.gather(*(line() for _ in range(together)))
    return time.perf_counter() - begun


def _bare(python: Path, folder: Path, code: str) -> None:
    subprocess.run(
        [str(python), "-I", "-c", code],
        env={"HOME": str(folder)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=LIMITS.wall_seconds,
    )
