"""Containers that stand ready, each for one run; those that are being made; those that go."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine

from sandbox.docker.container import Container
from sandbox.docker.leftovers import LIFE_SECONDS
from sandbox.docker.profile import Shape

REFILL_SECONDS = 0.1
"""A container that was taken is replaced after this time, or after its run where that ends earlier:
making one takes a processor for longer than most runs last."""
BUILDERS = 1
"""How many are made at a time, in the background: loading the libraries takes a processor for most
of a second, which the runs of the moment want more."""
TEND_SECONDS = 30.0


class Pool:
    """Keeps loaded containers of the shape that was last asked for; none before `keep`.

    `make(shape, load)` makes one, `end(container)` ends one. Only who asks for more than stands
    ready waits for a start, and nobody for an end.
    """

    def __init__(
        self,
        shape: Shape,
        make: Callable[[Shape, bool], Awaitable[Container]],
        end: Callable[[Container], Coroutine[None, None, None]],
    ) -> None:
        self._size, self._shape = 0, shape
        self._make, self._end = make, end
        self._ready: list[Container] = []
        self._builders: set[asyncio.Task[None]] = set()
        self._endings: set[asyncio.Task[None]] = set()
        self._refill: asyncio.TimerHandle | None = None
        self._closed = False
        self._tending = asyncio.create_task(self._tend())

    def keep(self, size: int) -> None:
        """From now on have that many stand ready."""
        self._size = size
        self._fill()

    @property
    def standing(self) -> int:
        """How many stand ready."""
        return len(self._ready)

    @property
    def wanted(self) -> int:
        """How many are to stand ready."""
        return self._size

    async def take(self, shape: Shape) -> Container:
        """One for a run: at once where one that fits stands ready, else a new one."""
        self._shape = shape
        self._discard()
        if self._ready:
            found = self._ready.pop(0)
            self._refill_in(REFILL_SECONDS)
            return found
        self._fill()
        return await self._make(shape, False)

    def give_back(self, container: Container) -> asyncio.Task[None]:
        """Its run is over: end it, in the background."""
        self._refill_in(0.0)
        return self._let_go(container)

    async def warmed(self) -> None:
        """Wait until all stand ready; at once where that cannot be. A broken engine ends it too."""
        self._fill()
        while len(self._ready) < self._size and self._builders:
            await asyncio.wait(tuple(self._builders), return_when=asyncio.FIRST_COMPLETED)

    async def close(self) -> None:
        """End all of them; returns when the engine has none left."""
        self._closed = True
        self._stop_timer()
        for task in (self._tending, *self._builders):
            task.cancel()
        await asyncio.gather(self._tending, *self._builders, return_exceptions=True)
        while self._ready:
            self._let_go(self._ready.pop())
        await asyncio.gather(*self._endings, return_exceptions=True)

    def _discard(self) -> None:
        """Let go of those that are of no use any more."""
        oldest = time.monotonic() - LIFE_SECONDS
        kept = []
        for each in self._ready:
            if each.lost or not each.shape.fits(self._shape) or each.made < oldest:
                self._let_go(each)
            else:
                kept.append(each)
        self._ready = kept

    def _refill_in(self, seconds: float) -> None:
        self._stop_timer()
        if not self._closed:
            self._refill = asyncio.get_running_loop().call_later(seconds, self._fill)

    def _stop_timer(self) -> None:
        if self._refill is not None:
            self._refill.cancel()
            self._refill = None

    def _fill(self) -> None:
        """Have as many made as are missing and may be made at a time."""
        if self._closed:
            return
        missing = self._size - len(self._ready) - len(self._builders)
        for _ in range(min(missing, BUILDERS - len(self._builders))):
            task = asyncio.create_task(self._build(self._shape))
            self._builders.add(task)
            task.add_done_callback(self._built)

    async def _build(self, shape: Shape) -> None:
        made = await self._make(shape, True)
        if self._closed or not shape.fits(self._shape):
            self._let_go(made)
        else:
            self._ready.append(made)

    def _built(self, task: asyncio.Task[None]) -> None:
        """Go on; but not after a failure, which the next run will meet and tell."""
        self._builders.discard(task)
        if not self._closed and not task.cancelled() and task.exception() is None:
            self._fill()

    def _let_go(self, container: Container) -> asyncio.Task[None]:
        task = asyncio.create_task(self._end(container))
        self._endings.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._endings.discard(task)
        if not task.cancelled():
            task.exception()

    async def _tend(self) -> None:
        """Now and then: replace what has ended or grown old."""
        while True:
            await asyncio.sleep(TEND_SECONDS)
            self._discard()
            self._fill()
