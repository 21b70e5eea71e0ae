"""The drill: rest, count, run thousands, rest, count, close, count."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lab.drills.leaks import growth
from lab.drills.leaks.census import Census
from lab.drills.leaks.growth import Memory, Row
from lab.drills.leaks.mix import LIMITS, Kind, kinds
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
class Outcome:
    """What was counted. `wrong`: runs that did not end as they should, by kind."""

    runs: int
    seconds: float
    rows: tuple[Row, ...]
    memory: tuple[Memory, ...]
    wrong: Mapping[str, int]

    @property
    def passed(self) -> bool:
        """Whether nothing has grown, and every run ended as it should."""
        counted = any(each.grown for each in self.rows)
        return not (self.wrong or counted or any(each.grown for each in self.memory))


@dataclass(slots=True)
class Runs:
    """The runs, two at a time, and who looks on while they go."""

    sandbox: Sandbox
    wrong: Counter[str]

    async def all(self, coming: Iterator[Kind], done: Callable[[], None]) -> None:
        """Every kind that comes, once; `done` is called after each."""

        async def line() -> None:
            for kind in coming:
                if not await self._went_well(kind):
                    self.wrong[kind.name] += 1
                done()

        await asyncio.gather(*(line() for _ in range(TOGETHER)))

    async def _went_well(self, kind: Kind) -> bool:
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
) -> Outcome:
    """Run it on a sandbox of its own."""
    await _once(make())  # what an engine or a kernel makes at its first use, and keeps
    first = await _at_rest(census)
    sandbox = make()
    wrong: Counter[str] = Counter()
    memory: defaultdict[str, list[int]] = defaultdict(list)
    made = 0

    def done() -> None:
        nonlocal made
        made += 1
        if made * POINTS // runs != (made - 1) * POINTS // runs:
            for what, size in census.memory().items():
                memory[what].append(size)
        if made * 10 // runs != (made - 1) * 10 // runs:
            say(f"{made} of {runs} runs, {time.monotonic() - begun:.0f} s")

    try:
        await sandbox.wait_until_warm()
        await Runs(sandbox, wrong).all(kinds(WARM_RUNS, seed=5), lambda: None)
        await sandbox.wait_until_warm()
        before = await _at_rest(census)
        at_rest = [census.memory_below()]
        begun = time.monotonic()
        await Runs(sandbox, wrong).all(kinds(runs), done)
        seconds = time.monotonic() - begun
        await sandbox.wait_until_warm()
        after = await _at_rest(census, before)
        at_rest.append(census.memory_below())
    finally:
        await sandbox.close()
    if census.settings.sandbox is Backend.LOCAL:
        memory["sandboxes at rest"] = at_rest
    closed = await _at_rest(census, first)
    return Outcome(
        runs,
        round(seconds, 1),
        tuple(growth.rows(first, before, after, closed)),
        tuple(Memory(what, line) for what, line in memory.items()),
        dict(wrong),
    )


async def _once(sandbox: Sandbox) -> None:
    try:
        await sandbox.run(Command.python("pass"), LIMITS)
    finally:
        await sandbox.close()


async def _at_rest(census: Census, known: Mapping[str, int] | None = None) -> dict[str, int]:
    """The counts when nothing moves any more: the same for a second, and not above what is known.

    Used sandboxes are replaced in the background; what has not settled in 20 s never does.
    """
    until = time.monotonic() + REST_SECONDS
    last, same = census.count(), 0
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = census.count()
        same = same + 1 if now == last else 0
        within = known is None or all(now[what] <= known[what] for what in now)
        if (same >= SAME_LOOKS and within) or time.monotonic() > until:
            return now
        last = now
