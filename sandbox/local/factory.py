"""Makes a supervisor's sandboxes, and the zygotes that they are copied from.

One zygote makes the sandboxes. The first zygote has no libraries loaded, because to load them takes
a processor for two seconds. Before the first run that names a library, a second zygote loads them
and then replaces the first. After `rotation` sandboxes, a zygote is replaced in the same way, and
ends with its last sandbox. If a zygote ends unexpectedly, its sandboxes end too; the next sandbox
starts a new zygote.
"""

from __future__ import annotations

import contextlib
import selectors
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from sandbox.local import remedies
from sandbox.local.base_container import ContainerSpec
from sandbox.local.cgroups.groups import Cgroups, SandboxGroup
from sandbox.local.zygote import SandboxProcess, SandboxRequest, Zygote
from sandbox.result import ExitReport

LINGER_SECONDS = 1.0
"""A killed sandbox ends within milliseconds. If it takes longer, all members of its group are
killed."""
PAUSE_SECONDS = 10.0
"""The pause after a replacing zygote was killed before it was ready."""
FAILED_PAUSE_SECONDS = 300.0
"""After a replacing zygote failed with an error: its libraries cannot be preloaded, and each
attempt takes seconds of a processor."""
_ZYGOTE_ENDED = "the zygote ended early"


class Factory:
    """Makes and ends sandboxes, and collects messages for the worker in `outbox`."""

    def __init__(
        self,
        spec: ContainerSpec,
        groups: Cgroups | None,
        rotation: int,
        selector: selectors.BaseSelector,
    ) -> None:
        self._spec, self._groups, self._rotation = spec, groups, rotation
        self._selector = selector
        self._sandboxes: dict[int, SandboxProcess] = {}
        self._waiting: deque[SandboxRequest] = deque()
        """Requests that wait for a zygote."""
        self._current: Zygote | None = None
        self._next: Zygote | None = None
        self._zygotes: list[Zygote] = []
        self._next_start = float("inf")
        """The time at which the next zygote starts, by the monotonic clock."""
        self._loads_libraries = False
        """Whether the next zygote loads libraries."""
        self.outbox: list[tuple[dict[str, Any], SandboxProcess | None]] = []
        """Messages for the worker, each with a sandbox if the worker gets its sockets."""

    def make(self, request: SandboxRequest) -> None:
        """Make a sandbox, as soon as a zygote is ready."""
        self._waiting.append(request)
        if self._current is not None and self._current.has_ended():
            self._current = None  # its pidfd will report its end
        if self._current is None:
            try:
                self._current = self._start_zygote(libraries=False)
            except OSError as error:
                self._fail_waiting(str(error), lost=False)
                return
            self._schedule_libraries()
        self._serve_waiting()

    def warm(self) -> None:
        """Load the libraries; the message `warm` reports when new sandboxes have them."""
        self._loads_libraries = True
        self._schedule_libraries()

    def start(
        self, number: int, seconds: float, memory: int, processes: int, cpus: float | None
    ) -> None:
        """Set the limits of a sandbox for its run, and kill it after `seconds`."""
        sandbox = self._sandboxes.get(number)
        if sandbox is None:
            return  # its end was reported
        try:
            if sandbox.group is not None:
                sandbox.group.set_limits(memory, processes, cpus)
        except OSError as error:  # affects this run only
            self._fail(number, f"its limits could not be set: {error}")
            return
        sandbox.deadline = time.monotonic() + seconds
        self.outbox.append(({"started": number}, None))

    def end(self, number: int) -> None:
        """End a sandbox, or cancel its request. The message `ended` reports when it has ended."""
        sandbox = self._sandboxes.get(number)
        if sandbox is not None:
            sandbox.deadline = time.monotonic() + LINGER_SECONDS
            sandbox.kill()
            return
        waiting = len(self._waiting)
        self._waiting = deque(request for request in self._waiting if request.number != number)
        if len(self._waiting) < waiting:
            self._report_ended(number, ExitReport())

    def enforce_deadlines(self) -> float:
        """Kill overdue sandboxes and zygotes; returns the seconds until the next deadline."""
        now = time.monotonic()
        for sandbox in self._sandboxes.values():
            if sandbox.deadline <= now:
                sandbox.deadline = now + LINGER_SECONDS
                sandbox.kill_all_members()
        for zygote in self._zygotes:
            if zygote.deadline <= now:
                zygote.deadline = float("inf")
                zygote.kill()
        if self._next_start <= now:
            self._start_next_zygote()
        deadlines = [sandbox.deadline for sandbox in self._sandboxes.values()]
        deadlines += [zygote.deadline for zygote in self._zygotes]
        return max(0.0, min((*deadlines, self._next_start)) - now)

    def close(self) -> None:
        """Kill every zygote and its sandboxes, and wait for their end."""
        for zygote in self._zygotes:
            zygote.kill()
        for zygote in self._zygotes:
            zygote.close()

    def _serve_waiting(self) -> None:
        """Let the current zygote make the waiting requests."""
        zygote = self._current
        if zygote is None or not zygote.ready:
            return
        while self._waiting:
            request = self._waiting.popleft()
            group: SandboxGroup | None = None
            try:
                group = None if self._groups is None else self._groups.make_group()
                self._sandboxes[request.number] = zygote.request_sandbox(request, group)
            except OSError as error:
                if self._groups is not None and group is not None:
                    self._groups.discard_group(group)
                self._fail(request.number, str(error))
        if zygote.sandboxes_made >= self._rotation and self._next is None:
            self._next_start = min(self._next_start, time.monotonic())

    def _schedule_libraries(self) -> None:
        """Start a zygote with libraries now, if they are needed and no other zygote is starting."""
        if self._loads_libraries and self._next is None:
            self._next_start = min(self._next_start, time.monotonic())

    def _start_next_zygote(self) -> None:
        self._next_start = float("inf")
        try:
            self._next = self._start_zygote(libraries=self._loads_libraries)
        except OSError:  # a resource is missing: the current zygote continues
            self._next_start = time.monotonic() + PAUSE_SECONDS

    def _start_zygote(self, *, libraries: bool) -> Zygote:
        zygote = Zygote(self._spec, libraries=libraries)
        self._zygotes.append(zygote)
        self._watch(zygote.channel, partial(self._on_zygote_message, zygote))
        self._watch(zygote.pidfd, partial(self._on_zygote_end, zygote))
        return zygote

    def _on_zygote_message(self, zygote: Zygote) -> None:
        try:
            answer = zygote.receive()
        except EOFError:  # its pidfd reports its end
            self._selector.unregister(zygote.channel)
            return
        if answer is not None:
            self._on_made(*answer)
        elif zygote.ready and zygote is self._next:
            old, self._current, self._next = self._current, zygote, None
            if zygote.libraries:
                self.outbox.append(({"warm": True}, None))
            else:
                self._schedule_libraries()  # a run may have asked for them since
            if old is not None:
                self._end_if_unused(old)
        self._serve_waiting()

    def _on_zygote_end(self, zygote: Zygote) -> None:
        stderr_text = zygote.read_stderr()
        lost = zygote.ready or not stderr_text  # a zygote without an error text was killed
        stderr_text = stderr_text or _ZYGOTE_ENDED
        self._zygotes.remove(zygote)
        for sandbox in tuple(self._sandboxes.values()):
            if sandbox.zygote is zygote and sandbox.pidfd is None:  # it will never be made
                self._close(sandbox)
                self._fail(sandbox.number, stderr_text, lost=True)
        for source in (zygote.channel, zygote.pidfd):
            self._unwatch(source)
        zygote.close()
        if zygote is self._next:
            pause = PAUSE_SECONDS if lost else FAILED_PAUSE_SECONDS
            self._next, self._next_start = None, time.monotonic() + pause
            if zygote.libraries and not lost:
                self.outbox.append(({"cold": stderr_text[-500:]}, None))
        elif zygote is self._current:
            self._current = None
            self._fail_waiting(stderr_text, lost=lost)

    def _end_if_unused(self, zygote: Zygote) -> None:
        """End a replaced zygote if it has no sandboxes."""
        is_replaced = zygote in self._zygotes and zygote not in {self._current, self._next}
        if is_replaced and not zygote.sandboxes_alive:
            zygote.kill()

    def _on_made(self, sandbox: SandboxProcess, reason: str) -> None:
        """The zygote has made a sandbox, or has failed for this reason."""
        if sandbox.pidfd is None:
            self._close(sandbox)
            self._fail(sandbox.number, reason)
            return
        self._watch(sandbox.pidfd, partial(self._on_sandbox_end, sandbox))
        self._watch(sandbox.control, partial(self._on_agent_message, sandbox))

    def _on_agent_message(self, sandbox: SandboxProcess) -> None:
        """The agent of a new sandbox has sent its first message, or has closed its socket."""
        self._selector.unregister(sandbox.control)
        reason = sandbox.receive_ready()
        if reason is None:
            message = {"made": sandbox.number, "libraries": sandbox.zygote.libraries}
            self.outbox.append((message, sandbox))
            return
        if not sandbox.is_killed:
            self._fail(sandbox.number, reason, lost=sandbox.zygote.has_ended())
        sandbox.kill()

    def _on_sandbox_end(self, sandbox: SandboxProcess) -> None:
        self._report_ended(sandbox.number, self._close(sandbox))
        self._end_if_unused(sandbox.zygote)

    def _close(self, sandbox: SandboxProcess) -> ExitReport:
        del self._sandboxes[sandbox.number]
        for source in (sandbox.pidfd, sandbox.control):
            if source is not None:
                self._unwatch(source)
        report = sandbox.close()
        if self._groups is not None and sandbox.group is not None:
            self._groups.discard_group(sandbox.group)
        return report

    def _report_ended(self, number: int, report: ExitReport) -> None:
        self.outbox.append(({"ended": number, "report": asdict(report)}, None))

    def _fail_waiting(self, reason: str, *, lost: bool) -> None:
        while self._waiting:
            self._fail(self._waiting.popleft().number, reason, lost=lost)

    def _fail(self, number: int, reason: str, *, lost: bool = False) -> None:
        if not lost:
            reason = remedies.explain(reason, remedies.read_host_facts())
        self.outbox.append(({"failed": number, "reason": reason, "lost": lost}, None))

    def _watch(self, source: Any, callback: Callable[[], None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, callback)

    def _unwatch(self, source: Any) -> None:
        with contextlib.suppress(KeyError, ValueError):  # not watched any more, or closed
            self._selector.unregister(source)
