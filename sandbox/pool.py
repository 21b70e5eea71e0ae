"""Keeps sandboxes ready, each for one run, and ends them after their runs.

Both backends share this pool. A `BackendSession` (a supervisor, a container engine) makes each
`Instance`. The pool decides when an instance is made, gives it to a run, and ends it.

See ADR 42.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol

from sandbox.order import EncodedOrder
from sandbox.protocol import Command, Limits, PoolCount, RunResult, SandboxUnavailable
from sandbox.result import ExitReport

REFILL_SECONDS = 0.1
"""The pool replaces a sandbox this long after a run has taken it, or at the end of that run if it
ends earlier. Otherwise the pool would slow the run down: to make a sandbox takes more processor
time than most runs."""
MAX_REFILLS = 1
"""How many sandboxes are made at a time in the background. More would take the processors from
runs."""
LIFE_SECONDS = 3600.0
"""A sandbox that was ready for longer is replaced."""
TEND_SECONDS = 30.0


class SandboxLost(SandboxUnavailable):
    """A sandbox ended, and the code in it was not the cause. The run can be repeated once."""


class AnswerReader(Protocol):
    """The stream of an agent's answer."""

    async def readexactly(self, size: int, /) -> bytes:
        """Exactly `size` bytes. Raises OSError, and asyncio.IncompleteReadError at the end of the
        stream.
        """
        ...


class Instance(Protocol):
    """One sandbox; its agent waits for an order."""

    def fits(self, limits: Limits) -> bool:
        """Whether a run with these limits can use it."""
        ...

    @property
    def reader(self) -> AnswerReader:
        """The stream of the agent's answer."""
        ...

    @property
    def writer(self) -> asyncio.StreamWriter:
        """The stream to the agent."""
        ...

    @property
    def lost(self) -> bool:
        """Whether it is known to have ended."""
        ...

    async def start(self, limits: Limits) -> None:
        """Set the limits of its run. Raises SandboxUnavailable."""
        ...

    @property
    def max_acceptors(self) -> int:
        """How many `accept` calls may wait at a time, if it has a proxy."""
        ...

    @property
    def max_connections(self) -> int:
        """How many connections may be open at a time, including waiting `accept` calls."""
        ...

    async def accept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Wait for the next connection to its proxy. Raises OSError, EOFError,
        SandboxUnavailable.
        """
        ...

    async def report(self, result: RunResult | None, *, was_cut: bool) -> ExitReport:
        """How the sandbox ended. `result` is the answer of a run that failed; None: the agent gave
        no answer. `was_cut`: the connection to the agent ended before the answer. Raises
        SandboxLost.
        """
        ...

    async def end(self) -> None:
        """Kill all of its processes, and wait for their end. A second call does nothing."""
        ...


class BackendSession(Protocol):
    """Makes the sandboxes of a backend: one supervisor, or one engine."""

    @property
    def lost(self) -> bool:
        """Whether the session has ended, so that a new session must be opened."""
        ...

    def encode_order(self, command: Command, limits: Limits) -> EncodedOrder:
        """The command as an order for the agent of one of its sandboxes. Raises ValueError."""
        ...

    async def prepare(self, command: Command) -> None:
        """Wait for work that makes the command's run cheaper. Raises SandboxUnavailable."""
        ...

    async def make(
        self, limits: Limits, *, load: bool, trees: tuple[str, ...] = (), proxy: bool = False
    ) -> Instance:
        """Make a sandbox. Its `/work` begins with `trees`; with `proxy`, code can connect to the
        proxy port. `load`: the sandbox will be kept ready, so load libraries first. If the call
        fails or is cancelled, no part of the sandbox remains. Raises SandboxUnavailable.
        """
        ...

    def handle_error(self, error: SandboxUnavailable) -> None:
        """Find out from the error of a run whether this session is `lost`."""
        ...

    async def warm(self) -> None:
        """Wait until new sandboxes have libraries loaded. Raises SandboxUnavailable."""
        ...

    async def stop(self) -> None:
        """Make no more sandboxes. Raises nothing."""
        ...

    async def close(self) -> None:
        """Release all resources, after the last sandbox has ended. Raises nothing."""
        ...


class Pool:
    """Keeps sandboxes ready for runs with `limits`. The pool is empty until the first call of
    `keep`.

    A run waits for a new sandbox only if no sandbox is ready or fits its limits. No run waits for
    the end of a sandbox.
    """

    def __init__(self, session: BackendSession, limits: Limits) -> None:
        self._session, self._size, self._limits = session, 0, limits
        self._ready: list[tuple[Instance, float]] = []
        """The ready sandboxes, each with the time when it was made (monotonic clock)."""
        self._refill_tasks: set[asyncio.Task[None]] = set()
        self._make_tasks: set[asyncio.Task[Instance]] = set()
        self._in_use: set[Instance] = set()
        self._end_tasks: dict[Instance, asyncio.Task[None]] = {}
        self._fill_timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._tend_task = asyncio.create_task(self._tend())

    @property
    def count(self) -> PoolCount:
        """The numbers of unused sandboxes; can be called from any thread."""
        return PoolCount(len(self._ready), len(self._make_tasks), self._size)

    def keep(self, size: int) -> None:
        """From now on keep `size` sandboxes ready."""
        self._size = size
        self.fill()

    async def take(
        self,
        limits: Limits,
        *,
        fresh: bool = False,
        trees: tuple[str, ...] = (),
        proxy: bool = False,
    ) -> Instance:
        """Take a sandbox for a run with these limits: a ready one that fits, or else a new one. A
        run that asks for a `fresh` sandbox, or has `trees` or a `proxy`, always gets a new one.
        Raises SandboxUnavailable.
        """
        self._discard_old()
        needs_new = fresh or trees or proxy
        if self._ready and self._ready[0][0].fits(limits) and not needs_new:
            instance, _ = self._ready.pop(0)
            self._fill_later(REFILL_SECONDS)
        else:
            self.fill()  # after a failure, nothing else makes the missing sandboxes
            instance = await self._make(limits, load=False, trees=trees, proxy=proxy)
        self._in_use.add(instance)
        try:
            await self._start(instance, limits)
        except BaseException:
            await wait_until_done(self.discard(instance))
            raise
        return instance

    def discard(self, instance: Instance) -> asyncio.Task[None]:
        """End a sandbox after its run, in the background; returns the task."""
        self._in_use.discard(instance)
        self._fill_later(0.0)
        return self._end(instance)

    async def wait_until_warm(self) -> None:
        """Wait until all sandboxes are ready, with libraries loaded. Also returns if making one
        fails."""
        await self._session.warm()
        self._discard_old()
        self.fill()
        while len(self._ready) < self._size and self._refill_tasks:
            await asyncio.wait(tuple(self._refill_tasks), return_when=asyncio.FIRST_COMPLETED)

    def fill(self) -> None:
        """Start to make the missing sandboxes, at most `MAX_REFILLS` at a time."""
        if self._closed:
            return
        missing = self._size - len(self._ready) - len(self._refill_tasks)
        for _ in range(min(missing, MAX_REFILLS - len(self._refill_tasks))):
            task = asyncio.create_task(self._refill())
            self._refill_tasks.add(task)
            task.add_done_callback(self._on_refilled)

    async def close(self) -> None:
        """End all sandboxes, also those with a run, and wait for their end."""
        self._closed = True
        self._stop_timer()
        tasks = (self._tend_task, *self._refill_tasks, *self._make_tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for instance in (*self._in_use, *(instance for instance, _ in self._ready)):
            self._end(instance)
        self._in_use.clear()
        self._ready.clear()
        await asyncio.gather(*self._end_tasks.values(), return_exceptions=True)

    async def _make(
        self, limits: Limits, *, load: bool, trees: tuple[str, ...] = (), proxy: bool = False
    ) -> Instance:
        """Make a sandbox in a separate task. The task either completes or leaves no part of a
        sandbox, also if this pool is closed or the caller is cancelled.
        """
        if self._closed:
            raise _pool_closed()
        task = asyncio.create_task(self._session.make(limits, load=load, trees=trees, proxy=proxy))
        self._make_tasks.add(task)
        task.add_done_callback(self._make_tasks.discard)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            await wait_until_done(asyncio.create_task(self._cancel_make(task)))
            raise
        if task.cancelled():
            raise _pool_closed()
        return task.result()

    async def _start(self, instance: Instance, limits: Limits) -> None:
        if self._closed:  # closed while the sandbox was made
            raise _pool_closed()
        await instance.start(limits)

    async def _cancel_make(self, task: asyncio.Task[Instance]) -> None:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and task.exception() is None:  # completed before the cancellation
            await asyncio.wait({self._end(task.result())})

    async def _refill(self) -> None:
        """Make one sandbox, and add it to the ready sandboxes."""
        instance = await self._make(self._limits, load=True)
        if self._closed:
            self._end(instance)
        else:
            self._ready.append((instance, time.monotonic()))

    def _on_refilled(self, task: asyncio.Task[None]) -> None:
        """Make the next missing sandbox. Stop after a failure, because the next run reports it."""
        self._refill_tasks.discard(task)
        if not self._closed and not task.cancelled() and task.exception() is None:
            self.fill()

    def _discard_old(self) -> None:
        """End the ready sandboxes that have ended by themselves or are too old."""
        oldest = time.monotonic() - LIFE_SECONDS
        usable = []
        for instance, made_at in self._ready:
            if instance.lost or made_at < oldest:
                self._end(instance)
            else:
                usable.append((instance, made_at))
        self._ready = usable

    def _fill_later(self, seconds: float) -> None:
        self._stop_timer()
        if not self._closed:
            self._fill_timer = asyncio.get_running_loop().call_later(seconds, self.fill)

    def _stop_timer(self) -> None:
        if self._fill_timer is not None:
            self._fill_timer.cancel()
            self._fill_timer = None

    def _end(self, instance: Instance) -> asyncio.Task[None]:
        """The task that ends a sandbox; at most one for each sandbox."""
        task = self._end_tasks.get(instance)
        if task is None:
            task = self._end_tasks[instance] = asyncio.create_task(instance.end())
            task.add_done_callback(lambda done: self._on_ended(instance, done))
        return task

    def _on_ended(self, instance: Instance, task: asyncio.Task[None]) -> None:
        del self._end_tasks[instance]
        if not task.cancelled():
            task.exception()  # marks it as retrieved; the next run reports a lost session

    async def _tend(self) -> None:
        """Periodically replace sandboxes that have ended or are too old."""
        while True:
            await asyncio.sleep(TEND_SECONDS)
            self._discard_old()
            self.fill()


async def wait_until_done(task: asyncio.Task[Any]) -> None:
    """Wait for the task even if this coroutine is cancelled; then re-raise the cancellation.
    Ignores the task's result and exception.
    """
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


def _pool_closed() -> SandboxLost:
    return SandboxLost("the sandbox's session was closed before the run began")
