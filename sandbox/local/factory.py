"""A supervisor's sandboxes, and the zygotes that they are copied from.

One zygote makes the sandboxes. The first one has no libraries loaded, which would take a processor
for two seconds: before the first run that names one, another zygote loads them and follows. After a
number of sandboxes a zygote is followed by another one in the same way, and ends with its last
sandbox. One that ends unasked takes its sandboxes with it; the next sandbox has a new one.
"""

from __future__ import annotations

import contextlib
import selectors
import time
from collections import deque
from dataclasses import asdict
from functools import partial
from typing import Any

from sandbox.local import remedies
from sandbox.local.cgroups.groups import Cgroups, SandboxGroup
from sandbox.local.rootfs import RootfsSpec
from sandbox.local.zygote import Instance, Wanted, Zygote
from sandbox.result import ExitReport

LINGER_SECONDS = 1.0
"""A sandbox that was killed is gone within milliseconds; one that is not is killed more thoroughly.
"""
PAUSE_SECONDS = 10.0
"""After a zygote that was to follow another and did not get warm."""
FAILED_PAUSE_SECONDS = 300.0
"""The same where it said why: its libraries cannot be loaded beforehand, and trying takes seconds
of a processor."""
_EARLIER = "the zygote ended early"


class Factory:
    """What it has to report is in `outbox`: messages, each with a descriptor or None."""

    def __init__(
        self,
        spec: RootfsSpec,
        groups: Cgroups | None,
        rotation: int,
        selector: selectors.BaseSelector,
    ) -> None:
        self._spec, self._groups, self._rotation = spec, groups, rotation
        self._selector = selector
        self._all: dict[int, Instance] = {}
        self._waiting: deque[Wanted] = deque()  # for want of a zygote
        self._current: Zygote | None = None
        self._next: Zygote | None = None
        self._zygotes: list[Zygote] = []
        self._next_at = float("inf")  # when the next zygote is to be started
        self._libraries = False  # whether it loads them
        self.outbox: list[tuple[dict[str, Any], Instance | None]] = []

    def make(self, wanted: Wanted) -> None:
        """Make a sandbox, as soon as there is a zygote."""
        self._waiting.append(wanted)
        if self._current is not None and self._current.lost():
            self._current = None  # it is dying, as will be noticed
        if self._current is None:
            try:
                self._current = self._start(libraries=False)
            except OSError as error:
                self._fail_waiting(str(error), lost=False)
                return
            self._load()
        self._serve()

    def warm(self) -> None:
        """Have the libraries loaded; `warm` is reported when they are."""
        self._libraries = True
        self._load()

    def start(
        self, number: int, seconds: float, memory: int, processes: int, cpus: float | None
    ) -> None:
        """Bound a sandbox for its run, which ends with it after `seconds` at the latest."""
        instance = self._all.get(number)
        if instance is None:
            return  # its end was reported
        try:
            if instance.group is not None:
                instance.group.limit(memory, processes, cpus)
        except OSError as error:  # one run's trouble, and no other's
            self._fail(number, f"one could not be bounded: {error}")
            return
        instance.until = time.monotonic() + seconds
        self.outbox.append(({"started": number}, None))

    def end(self, number: int) -> None:
        """End a sandbox, or its making; that is reported when nothing of it is left."""
        instance = self._all.get(number)
        if instance is not None:
            instance.until = time.monotonic() + LINGER_SECONDS
            instance.kill()
            return
        before = len(self._waiting)
        self._waiting = deque(each for each in self._waiting if each.number != number)
        if len(self._waiting) < before:
            self._ended(number, ExitReport())

    def overdue(self) -> float:
        """Kill what has taken too long; returns the seconds until there may be more of it."""
        now = time.monotonic()
        for each in self._all.values():
            if each.until <= now:
                each.until = now + LINGER_SECONDS
                each.kill_thoroughly()
        for zygote in self._zygotes:
            if zygote.until <= now:
                zygote.until = float("inf")
                zygote.kill()
        if self._next_at <= now:
            self._start_next()
        due = [each.until for each in self._all.values()] + [each.until for each in self._zygotes]
        return max(0.0, min((*due, self._next_at)) - now)

    def close(self) -> None:
        """Kill every zygote, and with it its sandboxes; returns when nothing of them is left."""
        for zygote in self._zygotes:
            zygote.kill()
        for zygote in self._zygotes:
            zygote.close()

    def _serve(self) -> None:
        """Have the current zygote make what is waited for."""
        zygote = self._current
        if zygote is None or not zygote.ready:
            return
        while self._waiting:
            wanted = self._waiting.popleft()
            group: SandboxGroup | None = None
            try:
                group = None if self._groups is None else self._groups.take()
                self._all[wanted.number] = zygote.make(wanted, group)
            except OSError as error:
                if self._groups is not None and group is not None:
                    self._groups.give_back(group)
                self._fail(wanted.number, str(error))
        if zygote.made >= self._rotation and self._next is None:
            self._next_at = min(self._next_at, time.monotonic())

    def _load(self) -> None:
        """Start a zygote with libraries, where they were asked for and none is starting."""
        if self._libraries and self._next is None:
            self._next_at = min(self._next_at, time.monotonic())

    def _start_next(self) -> None:
        self._next_at = float("inf")
        try:
            self._next = self._start(libraries=self._libraries)
        except OSError:  # short of something: the one that there is goes on meanwhile
            self._next_at = time.monotonic() + PAUSE_SECONDS

    def _start(self, *, libraries: bool) -> Zygote:
        zygote = Zygote(self._spec, libraries=libraries)
        self._zygotes.append(zygote)
        self._watch(zygote.talk, partial(self._zygote_spoke, zygote))
        self._watch(zygote.pidfd, partial(self._zygote_ended, zygote))
        return zygote

    def _zygote_spoke(self, zygote: Zygote) -> None:
        try:
            made = zygote.receive()
        except EOFError:  # its end is noticed by its pidfd
            self._selector.unregister(zygote.talk)
            return
        if made is not None:
            self._made(*made)
        elif zygote.ready and zygote is self._next:
            old, self._current, self._next = self._current, zygote, None
            if zygote.libraries:
                self.outbox.append(({"warm": True}, None))
            else:
                self._load()  # they may have been asked for meanwhile
            if old is not None:
                self._retire(old)
        self._serve()

    def _zygote_ended(self, zygote: Zygote) -> None:
        stderr_text = zygote.stderr_text()
        lost = zygote.ready or not stderr_text  # one without an error text was killed
        stderr_text = stderr_text or _EARLIER
        self._zygotes.remove(zygote)
        for each in tuple(self._all.values()):
            if each.zygote is zygote and each.pidfd is None:  # it will never be born
                self._closed(each)
                self._fail(each.number, stderr_text, lost=True)
        for source in (zygote.talk, zygote.pidfd):
            self._unwatch(source)
        zygote.close()
        if zygote is self._next:
            pause = PAUSE_SECONDS if lost else FAILED_PAUSE_SECONDS
            self._next, self._next_at = None, time.monotonic() + pause
            if zygote.libraries and not lost:
                self.outbox.append(({"cold": stderr_text[-500:]}, None))
        elif zygote is self._current:
            self._current = None
            self._fail_waiting(stderr_text, lost=lost)

    def _retire(self, zygote: Zygote) -> None:
        """End a zygote that another one has followed, with its last sandbox."""
        is_old = zygote in self._zygotes and zygote not in {self._current, self._next}
        if is_old and not zygote.living:
            zygote.kill()

    def _made(self, instance: Instance, why: str) -> None:
        """The zygote has made a sandbox, or could not."""
        if instance.pidfd is None:
            self._closed(instance)
            self._fail(instance.number, why)
            return
        self._watch(instance.pidfd, partial(self._instance_ended, instance))
        self._watch(instance.control, partial(self._instance_spoke, instance))

    def _instance_spoke(self, instance: Instance) -> None:
        """The agent of a sandbox that was being made has sent something, or hung up."""
        self._selector.unregister(instance.control)
        why = instance.became_ready()
        if why is None:
            libraries = instance.zygote.libraries
            self.outbox.append(({"made": instance.number, "libraries": libraries}, instance))
            return
        if not instance.doomed:
            self._fail(instance.number, why, lost=instance.zygote.lost())
        instance.kill()

    def _instance_ended(self, instance: Instance) -> None:
        """Nothing of a sandbox is left."""
        self._ended(instance.number, self._closed(instance))
        self._retire(instance.zygote)

    def _closed(self, instance: Instance) -> ExitReport:
        del self._all[instance.number]
        for source in (instance.pidfd, instance.control):
            if source is not None:
                self._unwatch(source)
        report = instance.close()
        if self._groups is not None and instance.group is not None:
            self._groups.give_back(instance.group)
        return report

    def _ended(self, number: int, report: ExitReport) -> None:
        self.outbox.append(({"ended": number, "report": asdict(report)}, None))

    def _fail_waiting(self, stderr_text: str, *, lost: bool) -> None:
        while self._waiting:
            self._fail(self._waiting.popleft().number, stderr_text, lost=lost)

    def _fail(self, number: int, stderr_text: str, *, lost: bool = False) -> None:
        why = stderr_text if lost else remedies.explain(stderr_text, remedies.look())
        self.outbox.append(({"failed": number, "why": why, "lost": lost}, None))

    def _watch(self, source: Any, act: Any) -> None:
        self._selector.register(source, selectors.EVENT_READ, act)

    def _unwatch(self, source: Any) -> None:
        with contextlib.suppress(KeyError, ValueError):  # not watched any more, or closed
            self._selector.unregister(source)
