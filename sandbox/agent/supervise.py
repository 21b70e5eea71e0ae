"""Supervises a run: its output, its time, and the resources of its processes."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import errno
import os
import select
import signal
import time

from sandbox.agent.code_process import CodeProcess
from sandbox.agent.live_output import LiveOutput
from sandbox.agent.processes import has_dead_leader, list_pids, read_stat
from sandbox.agent.resource_monitor import INIT, ResourceMonitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CHUNK = 1 << 16
FIRST_SAMPLE_SECONDS = 0.01
MAX_REAPED_AT_ONCE = 256


class BoundedOutput:
    """The head and the tail of a stream, together at most `limit` bytes, and the size of all."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self.head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Add data to the head, and the remaining data to the tail."""
        self.total += len(data)
        free_head = self._head_limit - len(self.head)
        self.head += data[:free_head]
        self._tail += data[free_head:]
        if len(self._tail) > self._tail_limit + CHUNK:
            del self._tail[: len(self._tail) - self._tail_limit]

    @property
    def tail(self) -> bytes:
        """The last bytes after the head."""
        return bytes(self._tail[max(0, len(self._tail) - self._tail_limit) :])

    @property
    def dropped(self) -> int:
        """How many bytes between head and tail were dropped."""
        return self.total - len(self.head) - len(self.tail)


class RunSummary:
    """The output, end and times of a run."""

    def __init__(self, output_bytes: int) -> None:
        self.stdout, self.stderr = BoundedOutput(output_bytes), BoundedOutput(output_bytes)
        self.end: str | None = None
        """The limit that was exceeded first, as a value of `protocol.End`; None: no limit."""
        self.status = 0
        """The exit status, as waitpid returns it."""
        self.seconds = self.cpu_seconds = 0.0


class RunSupervisor:
    """Watches one program until it ends or exceeds a limit, then kills all processes of the run."""

    def __init__(
        self,
        process: CodeProcess,
        monitor: ResourceMonitor,
        limits: Mapping[str, float],
        stdin: bytes,
        control: int,
        live_descriptor: int | None = None,
    ) -> None:
        """`live_descriptor` receives the end of the output during the run, if it is not None."""
        self._limits, self._monitor, self._control = limits, monitor, control
        self._pid, self._stdin = process.pid, process.stdin
        self._unwritten_input = memoryview(stdin)
        self._pidfd = _open_pidfd(process.pid)
        self._child_signals = -1
        self._started_at = time.monotonic()
        self._live = None
        if live_descriptor is not None:
            self._live = LiveOutput(live_descriptor, self._started_at)
        self.summary = RunSummary(int(limits["output_bytes"]))
        monitor.start(limits)
        self._outputs = {process.stdout: self.summary.stdout, process.stderr: self.summary.stderr}
        self._poll = select.poll()
        for fd in (self._pidfd, control, *self._outputs):
            if fd is not None:
                self._poll.register(fd, select.POLLIN)
        self._poll.register(self._stdin, select.POLLOUT)
        if os.getpid() == INIT:
            self._child_signals = _open_child_signals()
            self._poll.register(self._child_signals, select.POLLIN)

    def watch(self) -> RunSummary:
        """Returns after all processes of the run have ended, with their complete output."""
        started_at = self._started_at
        deadline = started_at + self._limits["wall_seconds"]
        next_sample = started_at + FIRST_SAMPLE_SECONDS
        is_running = True
        while is_running and self.summary.end is None:
            now = time.monotonic()
            if now >= deadline:
                self.summary.end = "timeout"
            elif now >= next_sample:
                self.summary.end = self._monitor.sample()
                if self._child_signals >= 0:
                    reap_orphans(self._pid)
                next_sample = time.monotonic() + self._monitor.wait
            if self._live is not None:
                self._live.send_if_due(now)
            is_running = self._poll_once(min(next_sample, deadline) - time.monotonic())
        self.summary.seconds = time.monotonic() - started_at
        self._finish(is_running=is_running)
        return self.summary

    def _finish(self, *, is_running: bool) -> None:
        """Kill the remaining processes, and record how the run ended and which limit ended it."""
        if not is_running and not _has_succeeded(self._pid):
            self._monitor.sample_at_end()
        if is_running:
            kill_all()
        _, self.summary.status, usage = os.wait4(self._pid, 0)
        kill_all()  # most often, no process is left, and this is quick
        cpu_seconds = max(self._monitor.cpu.seconds, usage.ru_utime + usage.ru_stime)
        self.summary.cpu_seconds = cpu_seconds
        if self.summary.end is None and cpu_seconds > self._limits["cpu_seconds"]:
            self.summary.end = "cpu"
        if self.summary.end is None and self.summary.status != 0:
            causes = (
                (self._monitor.has_hit_process_limit, "processes"),
                (self._monitor.has_full_disk, "disk"),
            )
            self.summary.end = next((end for applies, end in causes if applies), None)
        self._read_remaining_output()

    def _poll_once(self, seconds: float) -> bool:
        """Move input and output for at most `seconds`; False if the program has ended."""
        is_running = True
        for fd, _ in self._poll.poll(max(0.0, seconds * 1000)):
            if fd == self._control:
                os._exit(0)  # the host has closed the socket, or sends unexpected data
            elif fd == self._pidfd:
                is_running = False
            elif fd == self._stdin:
                self._write_input()
            elif fd == self._child_signals:
                os.read(fd, CHUNK)
                reap_orphans(self._pid)
            else:
                self._read_output(fd)
        if self.summary.stdout.total + self.summary.stderr.total > self._limits["flood_bytes"]:
            self.summary.end = self.summary.end or "output"
        has_ended = self._pidfd is None and _wait_for_exit(self._pid, os.WNOHANG) is not None
        return is_running and not has_ended

    def _write_input(self) -> None:
        """Write as much as the pipe takes; close it at the end, or if the program has closed it."""
        try:
            if self._unwritten_input:
                written = os.write(self._stdin, self._unwritten_input[:CHUNK])
                self._unwritten_input = self._unwritten_input[written:]
        except BrokenPipeError:
            self._unwritten_input = self._unwritten_input[:0]
        if not self._unwritten_input:
            self._poll.unregister(self._stdin)
            os.close(self._stdin)

    def _read_output(self, fd: int) -> None:
        """Read once from an output; close it at its end."""
        data = os.read(fd, CHUNK)
        self._outputs[fd].add(data)
        if self._live is not None:
            self._live.add(data)
        if not data:
            self._poll.unregister(fd)
            os.close(fd)
            del self._outputs[fd]

    def _read_remaining_output(self) -> None:
        """Read the output that is still in the pipes; no process writes any more."""
        deadline = time.monotonic() + 1.0
        while self._outputs and time.monotonic() < deadline:
            for fd, _ in self._poll.poll(50):
                if fd in self._outputs:
                    self._read_output(fd)


def _open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when a child ends. None if the kernel has no such
    descriptors (gVisor of 2022): SIGCHLD then wakes an init, and any agent polls periodically.
    """
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return None


def _wait_for_exit(pid: int, flags: int = 0) -> os.waitid_result | None:
    """Wait for a child to end, without reaping it; None with WNOHANG if the child runs."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | flags)


def _has_succeeded(pid: int) -> bool:
    """Whether a child ended with exit code 0; waits for its end."""
    result = _wait_for_exit(pid)
    return result is not None and result.si_code == os.CLD_EXITED and result.si_status == 0


def _open_child_signals() -> int:
    """A descriptor that becomes readable when a child ends: an init has to reap all orphans."""
    read_end, write_end = os.pipe()
    for fd in (read_end, write_end):
        os.set_blocking(fd, False)
    # `signal.signal` would create members of enumerations.
    _signal.signal(_signal.SIGCHLD, _handle_child_signal)
    _signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    return read_end


def _handle_child_signal(*_: object) -> None:
    """Does nothing: the number of the signal arrives through the descriptor."""


def reap_orphans(program_pid: int) -> None:
    """Reap ended processes except the program, because the agent reads its status later. Stops
    after `MAX_REAPED_AT_ONCE` processes: a tree that grows as fast as it ends would otherwise keep
    the agent from checking the time.
    """
    for _ in range(MAX_REAPED_AT_ONCE):
        try:
            result = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if result is None or result.si_pid == program_pid:
                return
            os.waitpid(result.si_pid, 0)
        except ChildProcessError:
            return


def kill_all() -> None:
    """Kill every process of the sandbox except init and the agent, also detached, stopped and
    forking processes.

    The kernel signals them all under one lock, so none escapes by forking. Then wait until they
    have released their memory and files.
    """
    deadline = time.monotonic() + 2.0
    while time.monotonic() < deadline:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            return
        if not any(_is_alive(pid) for pid in list_pids() if pid != INIT):
            return
        time.sleep(0.001)


def _is_alive(pid: int) -> bool:
    fields = read_stat(pid)
    if fields is None:
        return False
    return fields[0] not in {b"Z", b"X"} or has_dead_leader(fields)
