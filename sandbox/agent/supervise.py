"""Supervising a run: its output, its time, and what its processes use (`resource_monitor.py`)."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import errno
import os
import select
import signal
import time

from sandbox.agent.processes import is_led_by_the_dead, numbers, stat
from sandbox.agent.program import Program
from sandbox.agent.resource_monitor import INIT, ResourceMonitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CHUNK = 1 << 16
FIRST_LOOK_SECONDS = 0.01
REAPED_AT_ONCE = 256


class Kept:
    """The head and the tail of a stream, at most `limit` bytes together, and the count of all."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self.head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Keep what belongs to the head or, for now, to the tail."""
        self.total += len(data)
        left = self._head_limit - len(self.head)
        self.head += data[:left]
        self._tail += data[left:]
        if len(self._tail) > self._tail_limit + CHUNK:
            del self._tail[: len(self._tail) - self._tail_limit]

    @property
    def tail(self) -> bytes:
        """The last bytes beyond the head."""
        return bytes(self._tail[max(0, len(self._tail) - self._tail_limit) :])

    @property
    def dropped(self) -> int:
        """How many bytes between head and tail are gone."""
        return self.total - len(self.head) - len(self.tail)


class Observed:
    """What was seen of a run. `end` is the limit that was hit first, if one was."""

    def __init__(self, output_bytes: int) -> None:
        self.stdout, self.stderr = Kept(output_bytes), Kept(output_bytes)
        self.end: str | None = None
        self.status = 0  # as waitpid gives it
        self.seconds = self.cpu_seconds = 0.0


class RunSupervisor:
    """Follows one program to its end or to a limit, then kills whatever is left in the sandbox."""

    def __init__(
        self,
        program: Program,
        monitor: ResourceMonitor,
        limits: Mapping[str, float],
        stdin: bytes,
        control: int,
    ) -> None:
        self._limits, self._monitor, self._control = limits, monitor, control
        self._pid, self._stdin, self._pending = program.pid, program.stdin, memoryview(stdin)
        self._pidfd = _pidfd(program.pid)
        self._wake = -1
        self.seen = Observed(int(limits["output_bytes"]))
        monitor.begin(limits)
        self._outputs = {program.stdout: self.seen.stdout, program.stderr: self.seen.stderr}
        self._poll = select.poll()
        for fd in (self._pidfd, control, *self._outputs):
            if fd is not None:
                self._poll.register(fd, select.POLLIN)
        self._poll.register(self._stdin, select.POLLOUT)
        if os.getpid() == INIT:
            self._wake = _woken_by_children()
            self._poll.register(self._wake, select.POLLIN)

    def follow(self) -> Observed:
        """Returns when no process of the run is left, with all that it wrote."""
        started = time.monotonic()
        deadline = started + self._limits["wall_seconds"]
        next_look = started + FIRST_LOOK_SECONDS
        running = True
        while running and self.seen.end is None:
            now = time.monotonic()
            if now >= deadline:
                self.seen.end = "timeout"
            elif now >= next_look:
                self.seen.end = self._monitor.look()
                if self._wake >= 0:
                    reap_orphans(self._pid)
                next_look = time.monotonic() + self._monitor.wait
            running = self._poll_once(min(next_look, deadline) - time.monotonic())
        self.seen.seconds = time.monotonic() - started
        self._end(running=running)
        return self.seen

    def _end(self, *, running: bool) -> None:
        """Kill what is left, and record how the run ended and what stopped it."""
        if not running and not _went_well(self._pid):
            self._monitor.last()
        if running:
            kill_all()
        _, self.seen.status, used = os.wait4(self._pid, 0)
        kill_all()  # most often, and most quickly, nobody is left to be killed
        self.seen.cpu_seconds = max(self._monitor.cpu.seconds, used.ru_utime + used.ru_stime)
        if self.seen.end is None and self.seen.cpu_seconds > self._limits["cpu_seconds"]:
            self.seen.end = "cpu"
        if self.seen.end is None and self.seen.status != 0:
            blockers = (self._monitor.crowded, "processes"), (self._monitor.full, "disk")
            self.seen.end = next((name for was, name in blockers if was), None)
        self._drain()

    def _poll_once(self, seconds: float) -> bool:
        """Move what can be moved, for `seconds` at most; False when the program has ended."""
        running = True
        for fd, _ in self._poll.poll(max(0.0, seconds * 1000)):
            if fd == self._control:
                os._exit(0)  # the host has gone, or speaks out of turn: the sandbox ends
            elif fd == self._pidfd:
                running = False
            elif fd == self._stdin:
                self._feed()
            elif fd == self._wake:
                os.read(fd, CHUNK)
                reap_orphans(self._pid)
            else:
                self._take(fd)
        if self.seen.stdout.total + self.seen.stderr.total > self._limits["flood_bytes"]:
            self.seen.end = self.seen.end or "output"
        return running and (self._pidfd is not None or _ended(self._pid, os.WNOHANG) is None)

    def _feed(self) -> None:
        """Write what the pipe takes; close it at the end, or when nobody reads."""
        try:
            if self._pending:
                self._pending = self._pending[os.write(self._stdin, self._pending[:CHUNK]) :]
        except BrokenPipeError:
            self._pending = self._pending[:0]
        if not self._pending:
            self._poll.unregister(self._stdin)
            os.close(self._stdin)

    def _take(self, fd: int) -> None:
        """Read once from an output; its end closes it."""
        data = os.read(fd, CHUNK)
        self._outputs[fd].add(data)
        if not data:
            self._poll.unregister(fd)
            os.close(fd)
            del self._outputs[fd]

    def _drain(self) -> None:
        """What the dead have left in the pipes, which is no more than pipes hold."""
        until = time.monotonic() + 1.0
        while self._outputs and time.monotonic() < until:
            for fd, _ in self._poll.poll(50):
                if fd in self._outputs:
                    self._take(fd)


def _pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when a child has ended. None where the kernel has none
    (gVisor of 2022): an init is woken by its children, and anybody looks now and then.
    """
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return None


def _ended(pid: int, flags: int = 0) -> os.waitid_result | None:
    """How a child has ended, who stays to be reaped; by default waits for that."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | flags)


def _went_well(pid: int) -> bool:
    """Whether a child ended with exit code 0."""
    ended = _ended(pid)
    return ended is not None and ended.si_code == os.CLD_EXITED and ended.si_status == 0


def _woken_by_children() -> int:
    """A descriptor that becomes readable when a child has ended: an init has them all to reap."""
    woken, waking = os.pipe()
    for fd in (woken, waking):
        os.set_blocking(fd, False)
    # Not by `signal.signal`, which makes members of enumerations.
    _signal.signal(_signal.SIGCHLD, _wake)
    _signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    return woken


def _wake(*_: object) -> None:
    """What a signal does here: its number comes through the descriptor."""


def reap_orphans(program: int) -> None:
    """Reap who has ended but `program`, whose status is still wanted. Not for ever: a tree that
    ends as quickly as it grows would keep the reaper from the clock.
    """
    for _ in range(REAPED_AT_ONCE):
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid == program:
                return
            os.waitpid(ended.si_pid, 0)
        except ChildProcessError:
            return


def kill_all() -> None:
    """Kill every process of the sandbox but init and the agent: detached, stopped, forking ones
    too.

    The kernel signals them all under one lock, so none forks away; what remains to wait for is
    that they let go of their memory and files.
    """
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            return
        if not any(_alive(pid) for pid in numbers() if pid != INIT):
            return
        time.sleep(0.001)


def _alive(pid: int) -> bool:
    fields = stat(pid)
    if fields is None:
        return False
    return fields[0] not in {b"Z", b"X"} or is_led_by_the_dead(fields)
