"""Measure both sides in turn: one run of each side for latency, some seconds of each side for
throughput.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from lab.benchmarks.sandbox.baseline import ProcessBaseline
from lab.benchmarks.sandbox.programs import PRINT, BenchmarkProgram
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Command, Limits

SETTLE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is measured. Before each run of a pair there is a pause of `pause` seconds, in which
    used sandboxes are replaced: a latency is that of a sandbox from the pool. Throughput has no
    pause: the pool is refilled within the measured time.
    """

    pairs: int = 40
    pause: float = 0.3
    slices: int = 5
    slice_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class Sides:
    """Measurements of both sides: seconds of each run, or runs a second of each slice."""

    sandboxed: list[float] = field(default_factory=list)
    baseline: list[float] = field(default_factory=list)


async def latencies(
    fresh: Fresh, baseline: ProcessBaseline, program: BenchmarkProgram, pace: Pace
) -> Sides:
    """Make one run of each side, `pairs` times; the sides alternate in starting."""
    sides = Sides()

    async def sandboxed() -> None:
        sides.sandboxed.append(await fresh.run(program))

    async def bare() -> None:
        # This blocks the event loop on purpose: no other task may run.
        sides.baseline.append(baseline.run(program))

    for number in range(pace.pairs):
        for side in (sandboxed, bare) if number % 2 else (bare, sandboxed):
            await asyncio.sleep(pace.pause)
            await side()
    return sides


async def rates(fresh: Fresh, baseline: ProcessBaseline, together: int, pace: Pace) -> Sides:
    """Make as many runs of `print(1)` as fit into a slice, `together` in parallel, the sides in
    turn.
    """

    async def bare() -> float:
        return await asyncio.to_thread(baseline.run, PRINT)

    sides = Sides()
    for _ in range(pace.slices):
        sides.sandboxed.append(await _slice(lambda: fresh.run(PRINT), together, pace.slice_seconds))
        await asyncio.sleep(SETTLE_SECONDS)
        sides.baseline.append(await _slice(bare, together, pace.slice_seconds))
        await asyncio.sleep(SETTLE_SECONDS)
    return sides


async def _slice(run: Callable[[], Awaitable[float]], together: int, seconds: float) -> float:
    started_at = time.perf_counter()
    until = started_at + seconds

    async def line() -> int:
        done = 0
        while time.perf_counter() < until:
            await run()
            done += 1
        return done

    done = sum(await asyncio.gather(*(line() for _ in range(together))))
    return done / (time.perf_counter() - started_at)


LIMITS = Limits(wall_seconds=60.0, cpu_seconds=60)


@dataclass(frozen=True, slots=True)
class Fresh:
    """The sandboxed side: runs in a fresh sandbox of one backend."""

    sandbox: LocalSandbox | DockerSandbox

    async def run(self, program: BenchmarkProgram) -> float:
        """Make one run, until its result with its file has arrived; returns its seconds."""
        started_at = time.perf_counter()
        result = await self.sandbox.run(Command.python(program.code), LIMITS)
        seconds = time.perf_counter() - started_at
        assert result.succeeded, (result.end, result.exit_code, result.stderr.text)
        program.check(result.stdout.text, dict(result.changed))
        return seconds
