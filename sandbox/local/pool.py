"""The supervisor's rooms: some standing ready, some given away, and who waits for one."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sandbox import policy
from sandbox.local.rooms import Plan, Room

REFILL_SECONDS = 0.1
"""A room that was taken is replaced after this time, or after its run where that ends earlier:
making one takes a processor for some 50 ms, and most runs are shorter."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A run that waits for a room with a `/work` of `size` bytes, for `seconds` at most."""

    number: int
    size: int
    seconds: float


@dataclass(eq=False)
class Standing:
    """A room and what it is there for: nothing yet, or the run `number`."""

    room: Room
    until: float
    """When it is overdue, on the monotonic clock; a room that stands ready never is."""
    ready: bool = False
    number: int | None = None
    dropped: bool = False


class Pool:
    """Every room there is. `give` hands one to its run, `fail` tells why there is none.

    Rooms stand ready in the size that was last asked for; another size is made when it is wanted.
    """

    def __init__(
        self,
        plan: Plan,
        give: Callable[[int, Room], None],
        fail: Callable[[int, str], None],
        gone: Callable[[int], None],
    ) -> None:
        self.plan = plan
        self._give, self._fail, self._gone = give, fail, gone
        self._all: list[Standing] = []
        self._waiting: deque[Wish] = deque()
        self._spare, self._size = 0, 0
        self._refill_at = float("inf")

    def __iter__(self) -> Iterator[Standing]:
        return iter(tuple(self._all))

    def keep(self, spare: int, size: int) -> None:
        """From now on keep `spare` rooms of `size` bytes ready."""
        self._spare, self._size = spare, size
        self._fill()

    def take(self, wish: Wish) -> None:
        """Give a room to a run: at once where one stands ready, else as soon as it does."""
        self._size = wish.size
        for each in self._all:
            if each.ready and each.number is None and each.room.size != wish.size:
                each.room.kill()
        self._waiting.append(wish)
        self._serve()
        if self._waiting:
            self._fill()
        else:
            self._refill_at = time.monotonic() + REFILL_SECONDS

    def drop(self, number: int) -> None:
        """End the run's room, or its waiting; `gone` is told when nothing of it is left."""
        self._waiting = deque(wish for wish in self._waiting if wish.number != number)
        for each in self._all:
            if each.number == number:
                each.dropped = True
                each.room.kill()
                return
        self._gone(number)

    def spoke(self, standing: Standing) -> None:
        """The agent of a room that was being made has sent something, or hung up."""
        if not standing.room.became_ready():
            standing.room.kill()
            return
        standing.ready, standing.until = True, float("inf")
        self._serve()

    def ended(self, standing: Standing) -> None:
        """A room's bubblewrap has ended."""
        self._all.remove(standing)
        complaint = "" if standing.ready else standing.room.complaint()
        standing.room.bury()
        if standing.number is not None:
            if standing.dropped:
                self._gone(standing.number)
            self._fill()
        elif standing.ready:
            self._fill()
        else:
            self._lament(standing.room.size, complaint)

    def _lament(self, size: int, complaint: str) -> None:
        """A room was not to be had: one wish fails, and no other is tried until someone asks."""
        for wish in self._waiting:
            if wish.size == size:
                self._waiting.remove(wish)
                self._fail(wish.number, complaint)
                return

    def overdue(self) -> float:
        """Do what its time has come for; returns the seconds until there is more of it."""
        now = time.monotonic()
        for each in self._all:
            if each.until <= now:
                each.room.kill()
                each.until = float("inf")
        if self._refill_at <= now:
            self._fill()
        due = min((each.until for each in self._all), default=float("inf"))
        return max(0.0, min(due, self._refill_at) - now)

    def _serve(self) -> None:
        for wish in tuple(self._waiting):
            free = (each for each in self._all if each.ready and each.number is None)
            fitting = next((each for each in free if each.room.size == wish.size), None)
            if fitting is not None:
                self._waiting.remove(wish)
                fitting.number = wish.number
                fitting.until = time.monotonic() + wish.seconds
                self._give(wish.number, fitting.room)

    def _fill(self) -> None:
        self._refill_at = float("inf")
        wanted = Counter(wish.size for wish in self._waiting)
        wanted[self._size] += self._spare
        there = Counter(each.room.size for each in self._all if each.number is None)
        for size, count in wanted.items():
            for _ in range(count - there[size]):
                self._make(size)

    def _make(self, size: int) -> None:
        try:
            room = Room(self.plan, size)
        except OSError as error:
            self._lament(size, str(error))
        else:
            self._all.append(Standing(room, time.monotonic() + policy.READY_SECONDS))
