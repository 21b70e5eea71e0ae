"""The supervisor's rooms: some standing ready, some given away, and who waits for one."""

from __future__ import annotations

import contextlib
import selectors
import time
from collections import Counter, deque
from collections.abc import Callable
from functools import partial

from sandbox import policy
from sandbox.local.cgroup import Cgroups
from sandbox.local.generation import Generation
from sandbox.local.plan import Plan
from sandbox.local.room_group import RoomGroup
from sandbox.local.rooms import Room
from sandbox.local.standing import Standing
from sandbox.local.succession import Succession
from sandbox.local.wish import Gone, Wish
from sandbox.protocol import PoolCount

REFILL_SECONDS = 0.1
"""A room that was taken is replaced after this time, or after its run where that ends earlier, or
at once where none is left: making one takes a processor for some 10 ms, which a short run had
better have for itself."""
LOAD_SECONDS = 5.0
"""The usual libraries are loaded when the first run wants them, or after this time without a run:
that takes a processor for nearly two seconds, for which a fresh worker has better uses."""
LINGER_SECONDS = 1.0
"""A room that was killed is gone within milliseconds; one that is not is killed more thoroughly."""


class Pool:
    """Every room there is. `give` hands one to its run, `fail` tells why there is none, `gone` that
    nothing is left of one that was dropped.

    Rooms stand ready in two lines (`lines.py`), in the size that was last asked for; another size
    is made when it is wanted. While the loaded line is warming the plain one stands in for it.
    After about `generation` rooms a line's nursery is replaced. Whoever waits for a room when a
    nursery ends, ready or not, waits for the next one; and is told that there is none when that
    ends, too.
    """

    def __init__(
        self,
        plan: Plan,
        groups: Cgroups | None,
        generation: int,
        selector: selectors.BaseSelector,
        give: Callable[[int, Room], None],
        fail: Callable[[int, str], None],
        gone: Callable[[Gone], None],
    ) -> None:
        self._selector, self._groups = selector, groups
        self._give, self._fail, self._gone = give, fail, gone
        self._plain, self._loaded = self._lines = tuple(
            Succession(plan, generation, selector, self._made, self._followed, self._ended)
            for _ in range(2)
        )
        self._all: dict[Room, Standing] = {}
        self._waiting: deque[Wish] = deque()
        self._disappointed: set[int] = set()  # those whose nursery has ended once
        self._past: dict[int, Gone] = {}  # rooms that ended before they were dropped
        self._spare, self._size = 0, 0
        self._refill_at = self._load_at = float("inf")

    @property
    def warm(self) -> bool:
        """Whether as many rooms stand ready in each line as are to be kept."""
        free = Counter(
            each.line for each in self._all.values() if each.ready and each.number is None
        )
        return all(line.warm and free[line] >= self._spare for line in self._kept())

    @property
    def count(self) -> PoolCount:
        """Its rooms that no run has."""
        idle = [each for each in self._all.values() if each.number is None]
        ready = sum(each.ready for each in idle if not each.room.doomed)
        making = sum(not each.ready for each in idle if not each.room.doomed)
        return PoolCount(ready, making, self._spare * len(self._kept()))

    def keep(self, spare: int, size: int) -> None:
        """From now on keep `spare` rooms of `size` bytes ready in each line."""
        self._spare, self._size = spare, size
        if spare:
            self._plain.load(policy.Stock.STANDARD)
            self._load_at = time.monotonic() + LOAD_SECONDS
        self._fill()

    def load(self) -> None:
        """Warm the loaded line now, if rooms are to stand ready at all."""
        self._load_at = float("inf")
        if self._spare:
            self._loaded.load(policy.Stock.USUAL)

    def take(self, wish: Wish) -> None:
        """Give a room to a run: at once where one stands ready, else as soon as it does."""
        self._size = wish.size
        if wish.libraries:
            self.load()
        elif self._load_at != float("inf"):
            self._load_at = time.monotonic() + LOAD_SECONDS
        for each in self._all.values():
            if each.ready and each.number is None and each.room.size != wish.size:
                each.room.kill()
        self._waiting.append(wish)
        self._serve()
        line = self._line(wish)
        idle = (each for each in self._all.values() if each.number is None)
        if self._waiting or not any(each.line is line for each in idle):
            self._fill()
        else:
            self._refill_at = time.monotonic() + REFILL_SECONDS

    def drop(self, number: int) -> None:
        """End the run's room, or its waiting; `gone` is told when nothing of it is left."""
        self._waiting = deque(wish for wish in self._waiting if wish.number != number)
        self._disappointed.discard(number)
        for each in self._all.values():
            if each.number == number:
                each.dropped = True
                each.until = time.monotonic() + LINGER_SECONDS
                each.room.kill()
                return
        self._gone(self._past.pop(number, Gone(number)))

    def overdue(self) -> float:
        """Do what its time has come for; returns the seconds until there is more of it."""
        now = time.monotonic()
        for each in self._all.values():
            if each.until <= now:
                each.until = now + LINGER_SECONDS
                each.room.root_out()
                if each.room.pidfd is None:
                    each.room.generation.kill()
        if self._refill_at <= now:
            self._fill()
        if self._load_at <= now:
            self.load()
        due = min((each.until for each in self._all.values()), default=float("inf"))
        due = min(due, self._refill_at, self._load_at, *(line.overdue(now) for line in self._lines))
        return max(0.0, due - now)

    def end(self) -> None:
        """Kill every room and every nursery; returns when nothing of them is left."""
        for line in self._lines:
            line.end()

    def _kept(self) -> tuple[Succession, ...]:
        """The lines in which rooms stand ready."""
        return self._lines if self._spare else (self._plain,)

    def _line(self, wish: Wish) -> Succession:
        """The one that makes a room for this wish, as things are."""
        return self._loaded if wish.libraries and self._loaded.serves else self._plain

    def _serve(self) -> None:
        for wish in tuple(self._waiting):
            free = (each for each in self._all.values() if each.ready and each.number is None)
            line = self._line(wish)
            fitting = (each for each in free if each.room.size == wish.size and each.line is line)
            # A nursery that is dying has closed its socket before its rooms die, too.
            sound = (each for each in fitting if not each.room.doomed)
            chosen = next((each for each in sound if not each.room.generation.lost()), None)
            if chosen is not None:
                self._hand_over(chosen, wish)

    def _hand_over(self, chosen: Standing, wish: Wish) -> None:
        self._waiting.remove(wish)
        self._disappointed.discard(wish.number)
        try:
            if chosen.room.group is not None:
                chosen.room.group.limit(wish.memory, wish.processes, wish.cpus)
            self._give(wish.number, chosen.room)
        except (BrokenPipeError, ConnectionResetError):
            raise  # there is nobody to give it to
        except OSError as error:  # one run's trouble, and no other's
            chosen.until = time.monotonic() + LINGER_SECONDS
            chosen.room.kill()
            self._fail(wish.number, f"one could not be handed over: {error}")
            return
        chosen.number = wish.number
        chosen.until = time.monotonic() + wish.seconds

    def _fill(self) -> None:
        self._refill_at = float("inf")
        wanted = Counter((self._line(wish), wish.size) for wish in self._waiting)
        for line in (self._plain, self._loaded):
            if line is self._plain or line.serves:
                wanted[line, self._size] += self._spare
        idle = (each for each in self._all.values() if each.number is None)
        there = Counter((each.line, each.room.size) for each in idle if not each.room.doomed)
        for (line, size), count in wanted.items():
            for _ in range(count - there[line, size]):
                self._make(line, size)

    def _make(self, line: Succession, size: int) -> None:
        group: RoomGroup | None = None
        try:
            group = None if self._groups is None else self._groups.room()
            room = line.make(size, group)
        except OSError as error:
            if group is not None:
                group.remove()
            self._lament(line, size, str(error))
        else:
            self._all[room] = Standing(room, line, time.monotonic() + policy.READY_SECONDS)

    def _made(self, room: Room, why: str) -> None:
        """The nursery has made a room, or could not."""
        standing = self._all[room]
        if room.pidfd is None:
            self._bury(standing)
            self._lament(standing.line, room.size, why)
            return
        self._selector.register(
            room.pidfd, selectors.EVENT_READ, partial(self._room_ended, standing)
        )
        self._selector.register(room.control, selectors.EVENT_READ, partial(self._spoke, standing))

    def _spoke(self, standing: Standing) -> None:
        """The agent of a room that was being made has sent something, or hung up."""
        why = standing.room.became_ready()
        if why is not None:
            self._misbegotten(standing, why)
            return
        self._selector.unregister(standing.room.control)
        standing.ready, standing.until = True, float("inf")
        self._serve()

    def _misbegotten(self, standing: Standing, why: str) -> None:
        """A room that did not come to stand ready: by itself, or with its whole generation."""
        self._selector.unregister(standing.room.control)
        if not (standing.room.doomed or standing.room.generation.lost()):
            standing.failed = True
            self._lament(standing.line, standing.room.size, why)
        standing.room.kill()

    def _lament(self, line: Succession, size: int, complaint: str) -> None:
        """A room was not to be had: one wish fails, and no other is tried until someone asks."""
        for wish in self._waiting:
            if (self._line(wish), wish.size) == (line, size):
                self._waiting.remove(wish)
                self._fail(wish.number, complaint)
                return

    def _room_ended(self, standing: Standing) -> None:
        """Nothing of a room is left."""
        self._bury(standing)
        if not standing.failed:
            self._fill()

    def _bury(self, standing: Standing) -> None:
        room = standing.room
        lost = room.generation.lost()
        del self._all[room]
        for each in (room.pidfd, room.control):
            with contextlib.suppress(KeyError, ValueError):  # not watched any more, or closed
                self._selector.unregister(-1 if each is None else each)
        hits = room.bury()
        standing.line.left(room.generation)
        if standing.number is not None:
            gone = Gone(standing.number, lost, hits)
            if standing.dropped:
                self._gone(gone)
            else:
                self._past[standing.number] = gone

    def _followed(self, old: Generation | None) -> None:
        """Another generation makes the rooms from now on: what stands ready is to be of it."""
        for each in self._all.values():
            if each.room.generation is old and each.number is None:
                each.room.kill()
        self._fill()

    def _ended(self, generation: Generation, complaint: str) -> None:
        """A generation ended unasked. Its rooms tell their end themselves, but for the unborn."""
        for each in tuple(self._all.values()):
            if each.room.generation is generation:
                each.room.kill()
                if each.room.pidfd is None:
                    self._bury(each)
        # Who waited for one of the loaded line waits for one of the plain line from here on.
        left = () if generation.stock is policy.Stock.USUAL else tuple(self._waiting)
        for wish in left:
            if wish.number in self._disappointed:
                self._disappointed.remove(wish.number)
                self._waiting.remove(wish)
                self._fail(wish.number, complaint)
            else:
                self._disappointed.add(wish.number)
        # One that never got ready may do so again and again: no other is tried until someone asks.
        if generation.ready or self._waiting:
            self._fill()
