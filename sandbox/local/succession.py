"""Which generation of a line makes the next room, and which is to follow it.

After a number of rooms the next is warmed while the old one still serves. An old one ends with its
last room. One that ends unasked takes its rooms with it, and the next room starts anew.
"""

from __future__ import annotations

import contextlib
import selectors
import time
from collections.abc import Callable
from functools import partial

from sandbox import policy
from sandbox.local.generation import Generation
from sandbox.local.plan import Plan
from sandbox.local.room_group import RoomGroup
from sandbox.local.rooms import Room
from sandbox.policy import Stock

_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 60.0
"""After a generation that did not get warm, and how long that may grow if the next does not."""
_EARLIER = "the nursery ended early"


class Succession:
    """Every generation of one line; each makes about `rooms` rooms.

    Tells `made` of a room that was made or why it was not, `followed` of the generation that
    another one replaces (None: the new one is the first), and `failed` of one that ended unasked,
    and why.
    """

    def __init__(
        self,
        plan: Plan,
        rooms: int,
        selector: selectors.BaseSelector,
        made: Callable[[Room, str], None],
        followed: Callable[[Generation | None], None],
        failed: Callable[[Generation, str], None],
    ) -> None:
        self._plan, self._rooms, self._selector = plan, rooms, selector
        self._made, self._followed, self._failed = made, followed, failed
        self._current: Generation | None = None
        self._next: Generation | None = None
        self._all: dict[Generation, float] = {}  # and until when it may take to be ready
        self._stock: Stock | None = None
        self._pause, self._not_before = _PAUSE_SECONDS, 0.0

    @property
    def warm(self) -> bool:
        """Whether the current generation is what was asked for, if anything was."""
        return self._stock is None or (
            self._current is not None and self._current.ready and self._fits(self._current)
        )

    @property
    def serves(self) -> bool:
        """Whether it makes rooms at once."""
        return self._current is not None and self._current.ready

    def load(self, stock: Stock) -> None:
        """From now on have a generation ready, with this loaded."""
        self._stock = stock
        self._prepare()

    def make(self, size: int, group: RoomGroup | None) -> Room:
        """Ask the current generation for a room in `group`. Raises OSError."""
        if self._current is None:
            self._current, self._next = self._next or self._start(), None
        room = self._current.make(size, group)
        self._prepare()
        return room

    def left(self, generation: Generation) -> None:
        """A room of this generation is gone."""
        old = generation in self._all and generation not in (self._current, self._next)
        if old and not generation.living:
            generation.kill()

    def overdue(self, now: float) -> float:
        """Kill those that take too long to be ready, and warm the next one where its time has come;
        returns the time of the next look.
        """
        for generation, until in self._all.items():
            if until <= now:
                generation.kill()
                self._all[generation] = float("inf")
        due = min(self._all.values(), default=float("inf"))
        if self._next is not None or not self._is_behind():
            return due
        self._prepare()
        return min(due, self._not_before) if self._next is None else due

    def end(self) -> None:
        """Kill and bury all of them, and with them every room."""
        for generation in self._all:
            generation.kill()
        for generation in self._all:
            generation.bury()
        self._all.clear()

    def _prepare(self) -> None:
        """Warm the next generation where the current one is not what it should be, or is old."""
        if self._next is not None or time.monotonic() < self._not_before:
            return
        is_old = self._current is not None and self._current.made >= self._rooms
        if is_old or self._is_behind():
            try:
                self._next = self._start()
            except OSError:  # short of something: what there is goes on meanwhile
                self._rest()

    def _rest(self) -> None:
        """Prepare none for a while."""
        self._not_before = time.monotonic() + self._pause
        self._pause = min(4 * self._pause, _LONGEST_PAUSE_SECONDS)

    def _is_behind(self) -> bool:
        """Whether there is no generation of what was asked for."""
        return self._stock is not None and (self._current is None or not self._fits(self._current))

    def _fits(self, generation: Generation) -> bool:
        return generation.stock == self._stock

    def _start(self) -> Generation:
        generation = Generation(self._plan, self._stock or Stock.NOTHING)
        is_usual = generation.stock is Stock.USUAL
        seconds = policy.WARM_SECONDS if is_usual else policy.READY_SECONDS
        self._all[generation] = time.monotonic() + seconds
        self._selector.register(
            generation.talk, selectors.EVENT_READ, partial(self._heard, generation)
        )
        self._selector.register(
            generation.pidfd, selectors.EVENT_READ, partial(self._ended, generation)
        )
        return generation

    def _heard(self, generation: Generation) -> None:
        try:
            told = generation.heard()
        except EOFError:  # its end is told by its pidfd
            self._selector.unregister(generation.talk)
            return
        if told is not None:
            self._made(*told)
        elif generation.ready:
            self._all[generation] = float("inf")
            if generation is self._next:
                old, self._current, self._next = self._current, generation, None
                self._pause = _PAUSE_SECONDS
                self._followed(old)
                if old is not None:
                    self.left(old)
        else:
            generation.kill()  # bubblewrap told of another process than its own child

    def _ended(self, generation: Generation) -> None:
        complaint = generation.complaint() or _EARLIER
        del self._all[generation]
        for fd in (generation.talk, generation.pidfd):
            with contextlib.suppress(KeyError):
                self._selector.unregister(fd)
        generation.bury()
        if generation is self._next:
            self._next = None
            self._rest()
        elif generation is self._current:
            self._current, self._not_before = None, time.monotonic() + _PAUSE_SECONDS
            self._failed(generation, complaint)
        elif generation.living:
            self._failed(generation, complaint)
