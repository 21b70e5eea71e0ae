"""Runs of code that go on at once."""

from __future__ import annotations

import asyncio

import pytest

from sandbox.protocol import Command, End, Layer, Limits, RunResult, Stream
from worker.adapters.sandbox import Bounded

LIMITS = Limits()
COMMAND = Command.python("print(1)")


class Slow:
    """A sandbox whose runs end when they are let; counts those under way."""

    def __init__(self) -> None:
        self.under_way = 0
        self.end = asyncio.Event()
        self.closed = False

    async def run(self, command: Command, limits: Limits) -> RunResult:
        assert (command, limits) == (COMMAND, LIMITS)
        self.under_way += 1
        try:
            await self.end.wait()
        finally:
            self.under_way -= 1
        return RunResult(End.EXITED, 0, None, Stream("1\n"), Stream(""), 0.1)

    async def check(self) -> tuple[Layer, ...]:
        return ()

    async def close(self) -> None:
        self.closed = True


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_more_go_on_than_are_allowed_over_all_jobs() -> None:
    slow, free = Slow(), asyncio.Semaphore(2)
    jobs = [Bounded(slow, free) for _ in range(5)]
    asked = [asyncio.create_task(job.run(COMMAND, LIMITS)) for job in jobs]
    await settled()
    assert slow.under_way == 2
    assert await jobs[0].check() == ()
    asked[0].cancel()  # its room is gone, the next has its turn
    asked[4].cancel()  # it never had one
    await settled()
    assert slow.under_way == 2
    slow.end.set()
    for cancelled in (asked[0], asked[4]):
        with pytest.raises(asyncio.CancelledError):
            await cancelled
    assert [(await each).stdout.text for each in asked[1:4]] == ["1\n"] * 3
    assert slow.under_way == 0


async def test_closing_it_closes_what_is_below() -> None:
    slow = Slow()
    await Bounded(slow, asyncio.Semaphore(1)).close()
    assert slow.closed
