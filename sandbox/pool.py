"""Sandboxes that stand ready, each for one run; those that are being made; those that end.

Both backends share this pool. A `Session` (a supervisor, a container engine) makes each `Instance`;
the pool decides when, hands them out, and sees to their end.

Why: docs/decisions/0042-one-kind-of-sandbox.md
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol

from sandbox.order import Order
from sandbox.protocol import Command, Limits, PoolCount, RunResult, SandboxUnavailable
from sandbox.result import ExitReport

REFILL_SECONDS = 0.1
"""A sandbox that was taken is replaced after this time, or after its run where that ends earlier:
making one takes a processor for longer than most runs last."""
BUILDERS = 1
"""How many are made at a time in the background: the runs of the moment want the processors more.
"""
LIFE_SECONDS = 3600.0
"""One that stands ready for longer is replaced."""
TEND_SECONDS = 30.0


class SandboxLost(SandboxUnavailable):
    """A sandbox ended by no fault of what ran in it. The run can be made once more."""


class Reader(Protocol):
    """What an agent's answer is read from."""

    async def readexactly(self, size: int, /) -> bytes:
        """Exactly `size` bytes. Raises asyncio.IncompleteReadError where it has ended, OSError."""
        ...


class Instance(Protocol):
    """One sandbox whose agent waits for its order."""

    def fits(self, limits: Limits) -> bool:
        """Whether it was made as a run with these limits needs it."""
        ...

    @property
    def reader(self) -> Reader:
        """The agent's answer."""
        ...

    @property
    def writer(self) -> asyncio.StreamWriter:
        """To the agent."""
        ...

    @property
    def lost(self) -> bool:
        """Whether it is known to have ended."""
        ...

    async def start(self, limits: Limits) -> None:
        """Bound it for its run. Raises SandboxUnavailable."""
        ...

    @property
    def acceptors(self) -> int:
        """How many connections are waited for at a time, where it has a proxy."""
        ...

    @property
    def connections(self) -> int:
        """How many there can be at a time, those that are waited for included."""
        ...

    async def accept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Wait for the next connection to its proxy. Raises OSError, EOFError,
        SandboxUnavailable.
        """
        ...

    async def report(self, result: RunResult | None, *, cut: bool) -> ExitReport:
        """How it fared in a run that failed, or (None) gave no answer; `cut` where its connection
        ended instead. Raises SandboxLost.
        """
        ...

    async def end(self) -> None:
        """Kill all that is in it; returns when nothing is left. A second call does nothing."""
        ...


class Session(Protocol):
    """What makes sandboxes: one supervisor, or one engine."""

    @property
    def lost(self) -> bool:
        """Whether it has ended, and another must be opened."""
        ...

    def order(self, command: Command, limits: Limits) -> Order:
        """The command as the agent of one of its sandboxes takes it. Raises ValueError."""
        ...

    async def prepare(self, command: Command) -> None:
        """Wait for what makes the command's run cheaper. Raises SandboxUnavailable."""
        ...

    async def make(
        self, limits: Limits, *, load: bool, layers: tuple[str, ...] = (), proxy: bool = False
    ) -> Instance:
        """A new sandbox, whose `/work` begins with `layers`, with a `proxy` to connect to or
        without; `load` where it is to stand ready, with libraries loaded. Of one that fails or is
        cancelled nothing is left. Raises SandboxUnavailable.
        """
        ...

    def notice(self, error: SandboxUnavailable) -> None:
        """Learn from what has ended a run that this is `lost`, if it is."""
        ...

    async def warm(self) -> None:
        """Returns when `make` loads libraries. Raises SandboxUnavailable."""
        ...

    async def stop(self) -> None:
        """Make no more. Raises nothing."""
        ...

    async def close(self) -> None:
        """Let go of everything, after the last sandbox has ended. Raises nothing."""
        ...


class Pool:
    """Keeps sandboxes ready for `limits`; none before `keep`.

    Only who asks for more than stands ready, or for limits that do not fit, waits for a start, and
    nobody for an end.
    """

    def __init__(self, session: Session, limits: Limits) -> None:
        self._session, self._size, self._limits = session, 0, limits
        self._ready: list[tuple[Instance, float]] = []  # and when it was made, monotonic
        self._builders: set[asyncio.Task[None]] = set()
        self._makings: set[asyncio.Task[Instance]] = set()
        self._taken: set[Instance] = set()
        self._endings: dict[Instance, asyncio.Task[None]] = {}
        self._refill: asyncio.TimerHandle | None = None
        self._closed = False
        self._tending = asyncio.create_task(self._tend())

    @property
    def count(self) -> PoolCount:
        """Its sandboxes that no run has; from any thread."""
        return PoolCount(len(self._ready), len(self._makings), self._size)

    def keep(self, size: int) -> None:
        """From now on have that many stand ready."""
        self._size = size
        self.fill()

    async def take(
        self,
        limits: Limits,
        *,
        fresh: bool = False,
        layers: tuple[str, ...] = (),
        proxy: bool = False,
    ) -> Instance:
        """One for a run with these limits: at once where one that fits stands ready, else a new
        one; always a new one where it is to be `fresh`, or has `layers` or a `proxy`. Raises
        SandboxUnavailable.
        """
        self._discard()
        is_special = fresh or layers or proxy
        if self._ready and self._ready[0][0].fits(limits) and not is_special:
            found, _ = self._ready.pop(0)
            self._refill_in(REFILL_SECONDS)
        else:
            self.fill()
            found = await self._make(limits, load=False, layers=layers, proxy=proxy)
        self._taken.add(found)
        try:
            await self._start(found, limits)
        except BaseException:
            await to_its_end(self.give_back(found))
            raise
        return found

    def give_back(self, instance: Instance) -> asyncio.Task[None]:
        """Its run is over: it is ended in the background, or waited for by who awaits this."""
        self._taken.discard(instance)
        self._refill_in(0.0)
        return self._end(instance)

    async def warmed(self) -> None:
        """Wait until all stand ready, with the libraries loaded; at once where that cannot be. A
        failure ends it too.
        """
        await self._session.warm()
        self._discard()
        self.fill()
        while len(self._ready) < self._size and self._builders:
            await asyncio.wait(tuple(self._builders), return_when=asyncio.FIRST_COMPLETED)

    def fill(self) -> None:
        """Have as many made as are missing and may be made at a time."""
        if self._closed:
            return
        missing = self._size - len(self._ready) - len(self._builders)
        for _ in range(min(missing, BUILDERS - len(self._builders))):
            task = asyncio.create_task(self._build(self._limits))
            self._builders.add(task)
            task.add_done_callback(self._built)

    async def close(self) -> None:
        """End all of them, those with a run in them too; returns when none is left."""
        self._closed = True
        self._stop_timer()
        tasks = (self._tending, *self._builders, *self._makings)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for instance in (*self._taken, *(each for each, _ in self._ready)):
            self._end(instance)
        self._taken.clear()
        self._ready.clear()
        await asyncio.gather(*self._endings.values(), return_exceptions=True)

    async def _make(
        self, limits: Limits, *, load: bool, layers: tuple[str, ...] = (), proxy: bool = False
    ) -> Instance:
        """One that is made in a task of its own: it ends whole or undone, whether it is this pool
        that is closed meanwhile, or who asked for it that is cancelled.
        """
        if self._closed:
            raise _closed()
        making = asyncio.create_task(
            self._session.make(limits, load=load, layers=layers, proxy=proxy)
        )
        self._makings.add(making)
        making.add_done_callback(self._makings.discard)
        try:
            await asyncio.wait({making})
        except asyncio.CancelledError:
            await to_its_end(asyncio.create_task(self._unmake(making)))
            raise
        if making.cancelled():
            raise _closed()
        return making.result()

    async def _start(self, instance: Instance, limits: Limits) -> None:
        if self._closed:  # at the moment when it was made
            raise _closed()
        await instance.start(limits)

    async def _unmake(self, making: asyncio.Task[Instance]) -> None:
        making.cancel()
        await asyncio.wait({making})
        if not making.cancelled() and making.exception() is None:  # it was made just then
            await asyncio.wait({self._end(making.result())})

    async def _build(self, limits: Limits) -> None:
        made = await self._make(limits, load=True)
        if self._closed:
            self._end(made)
        else:
            self._ready.append((made, time.monotonic()))

    def _built(self, task: asyncio.Task[None]) -> None:
        """Go on; but not after a failure, which the next run will meet and report."""
        self._builders.discard(task)
        if not self._closed and not task.cancelled() and task.exception() is None:
            self.fill()

    def _discard(self) -> None:
        """Let go of those that are of no use any more."""
        oldest = time.monotonic() - LIFE_SECONDS
        kept = []
        for each, made in self._ready:
            if each.lost or made < oldest:
                self._end(each)
            else:
                kept.append((each, made))
        self._ready = kept

    def _refill_in(self, seconds: float) -> None:
        self._stop_timer()
        if not self._closed:
            self._refill = asyncio.get_running_loop().call_later(seconds, self.fill)

    def _stop_timer(self) -> None:
        if self._refill is not None:
            self._refill.cancel()
            self._refill = None

    def _end(self, instance: Instance) -> asyncio.Task[None]:
        """The one task that ends it."""
        task = self._endings.get(instance)
        if task is None:
            task = self._endings[instance] = asyncio.create_task(instance.end())
            task.add_done_callback(lambda done: self._ended(instance, done))
        return task

    def _ended(self, instance: Instance, task: asyncio.Task[None]) -> None:
        del self._endings[instance]
        if not task.cancelled():
            task.exception()  # a lost session is reported by the next run

    async def _tend(self) -> None:
        """Now and then: replace what has ended or grown old."""
        while True:
            await asyncio.sleep(TEND_SECONDS)
            self._discard()
            self.fill()


async def to_its_end(task: asyncio.Task[Any]) -> None:
    """Wait for it, however often who waits is cancelled; who was cancelled meanwhile is so
    afterwards. How the task ended is not looked at.
    """
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


def _closed() -> SandboxLost:
    return SandboxLost("the sandbox's session was left before a run began")
