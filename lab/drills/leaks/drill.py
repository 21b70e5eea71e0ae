"""The drill: rest, count, make thousands of runs, rest, count, close, count."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lab.drills.leaks import growth
from lab.drills.leaks.census import Census
from lab.drills.leaks.growth import CountRow, Memory
from lab.drills.leaks.mix import LIMITS, RunKind, kinds
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Command, Sandbox
from settings.sandbox import Backend

TOGETHER = 2
WARM_RUNS = 40
POINTS = 48
REST_SECONDS = 20.0
LOOK_SECONDS = 0.25
SAME_LOOKS = 4


@dataclass(frozen=True, slots=True)
class LeakOutcome:
    """The counts. `wrong`: runs with an unexpected end, by kind."""

    runs: int
    seconds: float
    rows: tuple[CountRow, ...]
    memory: tuple[Memory, ...]
    wrong: Mapping[str, int]

    @property
    def passed(self) -> bool:
        """Whether no count has grown, and every run ended as expected."""
        counted = any(count.grown for count in self.rows)
        return not (self.wrong or counted or any(memory.grown for memory in self.memory))


@dataclass(slots=True)
class Runs:
    """The runs, two at a time, and the observer that looks on."""

    sandbox: Sandbox
    wrong: Counter[str]

    async def all(self, coming: Iterator[RunKind], done: Callable[[], None]) -> None:
        """Make each run once; `done` is called after each run."""

        async def line() -> None:
            for kind in coming:
                if not await self._went_well(kind):
                    self.wrong[kind.name] += 1
                done()

        await asyncio.gather(*(line() for _ in range(TOGETHER)))

    async def _went_well(self, kind: RunKind) -> bool:
        try:
            async with asyncio.timeout(kind.patience):
                return kind.holds(await self.sandbox.run(kind.command, kind.limits))
        except TimeoutError:
            return kind.patience is not None


async def drill(
    make: Callable[[], LocalSandbox | DockerSandbox],
    census: Census,
    runs: int,
    say: Callable[[str], None],
) -> LeakOutcome:
    """Run the drill on a new sandbox."""
    await _once(make())  # objects that an engine or a kernel makes at its first use, and keeps
    first = await _wait_for_rest(census)
    sandbox = make()
    wrong: Counter[str] = Counter()
    memory: defaultdict[str, list[int]] = defaultdict(list)
    count = 0

    def done() -> None:
        nonlocal count
        count += 1
        if count * POINTS // runs != (count - 1) * POINTS // runs:
            for label, size in census.memory().items():
                memory[label].append(size)
        if count * 10 // runs != (count - 1) * 10 // runs:
            say(f"{count} of {runs} runs, {time.monotonic() - started_at:.0f} s")

    try:
        await sandbox.wait_until_warm()
        await Runs(sandbox, wrong).all(kinds(WARM_RUNS, seed=5), lambda: None)
        await sandbox.wait_until_warm()
        before = await _wait_for_rest(census)
        at_rest = [census.memory_below()]
        started_at = time.monotonic()
        await Runs(sandbox, wrong).all(kinds(runs), done)
        seconds = time.monotonic() - started_at
        await sandbox.wait_until_warm()
        after = await _wait_for_rest(census, before)
        at_rest.append(census.memory_below())
    finally:
        await sandbox.close()
    if census.settings.sandbox is Backend.LOCAL:
        memory["sandboxes at rest"] = at_rest
    closed = await _wait_for_rest(census, first)
    return LeakOutcome(
        runs,
        round(seconds, 1),
        tuple(growth.rows(first, before, after, closed)),
        tuple(Memory(label, line) for label, line in memory.items()),
        dict(wrong),
    )


async def _once(sandbox: Sandbox) -> None:
    try:
        await sandbox.run(Command.python("pass"), LIMITS)
    finally:
        await sandbox.close()


async def _wait_for_rest(census: Census, bounds: Mapping[str, int] | None = None) -> dict[str, int]:
    """The counts at rest: equal for a second, and not above `bounds`. Used sandboxes are replaced
    in the background; counts that are not stable within 20 s never are.
    """
    until = time.monotonic() + REST_SECONDS
    last, same = census.count(), 0
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = census.count()
        same = same + 1 if now == last else 0
        within = bounds is None or all(now[label] <= bounds[label] for label in now)
        if (same >= SAME_LOOKS and within) or time.monotonic() > until:
            return now
        last = now
