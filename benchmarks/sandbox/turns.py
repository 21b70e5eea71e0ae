"""Both sides in turn: one run each for latency, some seconds each for throughput."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from benchmarks.sandbox.baseline import Baseline
from benchmarks.sandbox.fresh import Fresh
from benchmarks.sandbox.programs import PRINT, Program

SETTLE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is measured. Before each run of a pair both sides have `rest` seconds of quiet, in
    which the rooms that were used are replaced: a latency is that of a room that stands ready.
    Throughput has no rest: whoever refills a pool does it within the measured time.
    """

    pairs: int = 40
    rest: float = 0.3
    slices: int = 5
    slice_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class Latencies:
    """Seconds of each run, pair by pair."""

    sandboxed: list[float] = field(default_factory=list)
    baseline: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rates:
    """Runs a second of each slice."""

    sandboxed: list[float] = field(default_factory=list)
    baseline: list[float] = field(default_factory=list)


async def latencies(fresh: Fresh, baseline: Baseline, program: Program, pace: Pace) -> Latencies:
    """One run each, `pairs` times; which side begins changes from pair to pair."""
    found = Latencies()

    async def sandboxed() -> None:
        found.sandboxed.append(await fresh.run(program))

    async def theirs() -> None:
        found.baseline.append(baseline.run(program))  # nothing else is to happen meanwhile

    for number in range(pace.pairs):
        for side in (sandboxed, theirs) if number % 2 else (theirs, sandboxed):
            await asyncio.sleep(pace.rest)
            await side()
    return found


async def rates(fresh: Fresh, baseline: Baseline, together: int, pace: Pace) -> Rates:
    """As many runs of `print(1)` as go into a slice, `together` at a time, the sides in turn."""

    async def theirs() -> float:
        return await asyncio.to_thread(baseline.run, PRINT)

    found = Rates()
    for _ in range(pace.slices):
        found.sandboxed.append(await _slice(lambda: fresh.run(PRINT), together, pace.slice_seconds))
        await asyncio.sleep(SETTLE_SECONDS)
        found.baseline.append(await _slice(theirs, together, pace.slice_seconds))
        await asyncio.sleep(SETTLE_SECONDS)
    return found


async def _slice(run: Callable[[], Awaitable[float]], together: int, seconds: float) -> float:
    begun = time.perf_counter()
    until = begun + seconds

    async def line() -> int:
        done = 0
        while time.perf_counter() < until:
            await run()
            done += 1
        return done

    done = sum(await asyncio.gather(*(line() for _ in range(together))))
    return done / (time.perf_counter() - begun)
