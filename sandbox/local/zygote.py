"""The supervisor's side of one zygote (a base container and its first process), and of the
sandboxes that are copied from it.

See ADR 10.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox import policy
from sandbox.agent.wire import BROKEN, READY
from sandbox.local.base_container import ContainerSpec, Descriptors, bwrap_command
from sandbox.local.cgroups.sandbox_group import SandboxGroup
from sandbox.protocol import SandboxUnavailable
from sandbox.result import ExitReport

_MESSAGE_BYTES = 8192
_STDERR_BYTES = 4096
_REAP_SECONDS = 5.0
_PR_SET_CHILD_SUBREAPER = 36
_ZYGOTE_ENDED = (BrokenPipeError, ConnectionResetError)
"""A send to a zygote that has ended raises these. Its pidfd reports the end."""


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """A sandbox to make."""

    number: int
    """The worker's number for the sandbox."""
    bytes: int
    """The size of its `/work`."""
    inodes: int
    trees: Sequence[str]
    copies_trees: bool
    """`/work` begins with a copy of the trees, not with an overlay."""
    proxy_port: int
    """0: no proxy."""


class Zygote:
    """A zygote, started by the constructor. The constructor raises OSError if this process lacks a
    resource, and then leaves nothing behind.

    To kill the zygote kills all of its sandboxes. The kernel completes its end only after every
    process of every sandbox has ended; `pidfd` is readable then. `zygote/server.py` documents the
    messages.
    """

    def __init__(self, spec: ContainerSpec, *, libraries: bool) -> None:
        self.libraries = libraries
        self.ready = False
        """Whether the zygote has reported that it is ready."""
        self.sandboxes_made = self.sandboxes_alive = 0
        self.deadline = time.monotonic() + policy.WARM_SECONDS
        """The time at which it must be ready, by the monotonic clock."""
        self._requested: deque[SandboxProcess] = deque()
        self._zygote_pidfd: int | None = None
        with contextlib.ExitStack() as retained, contextlib.ExitStack() as passed:
            self.channel, zygote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            retained.enter_context(self.channel)
            passed.enter_context(zygote_end)
            self._stderr, stderr = _make_pipe(retained, passed)
            self._info, info = _make_pipe(retained, passed)
            files = {path: _make_memory_file(data, passed) for path, data in spec.files.items()}
            descriptors = Descriptors(zygote_end.fileno(), info, files)
            self._bwrap = subprocess.Popen(
                bwrap_command(spec.host_env, descriptors, libraries=libraries),
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=(zygote_end.fileno(), info, *files.values()),
                cwd="/",
            )
            retained.callback(self._bwrap.wait)
            retained.callback(self._bwrap.kill)
            self.pidfd = os.pidfd_open(self._bwrap.pid)
            retained.pop_all()  # the zygote has started, and `close` releases all of it

    def request_sandbox(
        self, request: SandboxRequest, group: SandboxGroup | None
    ) -> SandboxProcess:
        """Ask the zygote for a sandbox that adds itself to `group`. If the zygote has ended, the
        sandbox will never exist; the zygote's pidfd reports that. Raises OSError if this process
        lacks a resource.
        """
        group_fds: list[int] = []
        try:
            group_fds += [] if group is None else group.open_member_lists()
            clock = None if group is None else group.open_clock()
            group_fds += [] if clock is None else [clock]
            flags = int(clock is not None), int(request.copies_trees)
            numbers = (request.bytes, request.inodes, request.proxy_port, *flags)
            message = " ".join(("make", *map(str, numbers), *request.trees)).encode()
            sandbox = SandboxProcess(request.number, self, group)
            try:
                with sandbox.agent_end as agent_end, contextlib.suppress(*_ZYGOTE_ENDED):
                    socket.send_fds(self.channel, [message], [agent_end.fileno(), *group_fds])
            except OSError:
                sandbox.control.close()
                raise
        finally:
            for fd in group_fds:
                os.close(fd)
        seconds = policy.COPY_SECONDS if request.copies_trees else policy.READY_SECONDS
        sandbox.deadline = time.monotonic() + seconds
        self._requested.append(sandbox)
        self.sandboxes_made += 1
        self.sandboxes_alive += 1
        return sandbox

    def receive(self) -> tuple[SandboxProcess, str] | None:
        """Receive one message. Returns the requested sandbox, which has a process now, or has none
        and the reason in the second value. None: the message was not about a sandbox. Raises
        EOFError if the zygote has ended.
        """
        try:
            data, fds, _, _ = socket.recv_fds(
                self.channel, _MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC
            )
        except OSError:
            data, fds = b"", []
        if not data:
            raise EOFError
        word, _, reason = data.decode(errors="replace").partition(" ")
        if word == "ready":
            self._identify()
            return None
        if not self._requested or (word == "made") != bool(fds):
            self.kill()  # not a zygote that this supervisor started
            return None
        sandbox = self._requested.popleft()
        if fds:
            sandbox.set_pidfd(fds[0])
        return sandbox, reason

    def has_ended(self) -> bool:
        """Whether the zygote has ended. It closes its socket before any of its sandboxes dies."""
        if self.channel.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self.channel, select.POLLRDHUP)
        return bool(poll.poll(0))

    def read_stderr(self) -> str:
        """The error output of bubblewrap or the zygote, at most 4 KiB."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self._stderr, _STDERR_BYTES).decode(errors="replace")
        return ""

    def kill(self) -> None:
        """Kill the zygote and all of its sandboxes; `pidfd` becomes readable afterwards."""
        with contextlib.suppress(ProcessLookupError):
            if self._zygote_pidfd is not None:
                signal.pidfd_send_signal(self._zygote_pidfd, signal.SIGKILL)
            else:
                self._bwrap.kill()

    def close(self) -> None:
        """Reap bubblewrap, which has ended or is about to, and close all descriptors."""
        self._bwrap.wait()
        if self._zygote_pidfd is not None:  # it follows if bubblewrap itself was killed
            select.select([self._zygote_pidfd], [], [], _REAP_SECONDS)
        else:
            kill_orphans()
        self.channel.close()
        for fd in (self._stderr, self._info, self.pidfd, self._zygote_pidfd):
            if fd is not None:
                os.close(fd)

    def _identify(self) -> None:
        """Open a pidfd of the zygote, after bubblewrap has reported its pid. If the process is not
        a child of this bubblewrap, kill all.
        """
        with contextlib.suppress(OSError, ValueError, KeyError):
            pid = json.loads(os.read(self._info, 4096))["child-pid"]
            pidfd = os.pidfd_open(pid)
            parent = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1]
            if int(parent) == self._bwrap.pid:
                self._zygote_pidfd, self.ready, self.deadline = pidfd, True, float("inf")
                return
            os.close(pidfd)
        self.kill()


class SandboxProcess:
    """The sandbox `number` in the supervisor: requested by the constructor; it has a `pidfd` when
    the zygote has copied itself, and is `ready` when its agent reports that. It has ended when
    `pidfd` is readable, because the kernel ends its first process after all others.
    """

    def __init__(self, number: int, zygote: Zygote, group: SandboxGroup | None) -> None:
        self.number, self.zygote, self.group = number, zygote, group
        self.control, self.agent_end = socket.socketpair()
        """The agent's socket, until it is passed to the worker; and the agent's end of it."""
        self.proxy_sockets: list[int] = []
        """The listening socket of its proxy, which the agent sends when it is ready."""
        self.pidfd: int | None = None
        self.ready = False
        self.is_killed = False
        """Whether it was killed; it may exist for a moment longer."""
        self.deadline = float("inf")
        """The time at which it must be ready, or have ended, by the monotonic clock."""

    def set_pidfd(self, pidfd: int) -> None:
        """Its first process exists."""
        self.pidfd = pidfd
        if self.is_killed:
            self.kill()

    def receive_ready(self) -> str | None:
        """Receive the agent's first message, when `control` is readable. None: the agent is ready;
        otherwise the reason, which may be empty.
        """
        try:
            text, self.proxy_sockets, _, _ = socket.recv_fds(
                self.control, _STDERR_BYTES, 1, socket.MSG_CMSG_CLOEXEC
            )
        except OSError as error:
            return str(error)
        if text == READY:
            self.ready, self.deadline = True, float("inf")
            return None
        return text.removeprefix(BROKEN).decode(errors="replace")

    def close_sockets(self) -> None:
        """Close this process's copies of the sockets."""
        self.control.close()
        while self.proxy_sockets:
            os.close(self.proxy_sockets.pop())

    def kill(self) -> None:
        """Kill all of its processes."""
        self.is_killed = True
        if self.pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def kill_all_members(self) -> None:
        """Kill all of its processes, also through its control group. Without a first process, kill
        the zygote.
        """
        self.kill()
        if self.pidfd is None:
            self.zygote.kill()
        elif self.group is not None:
            self.group.kill_members()

    def close(self) -> ExitReport:
        """Release its resources, after its end."""
        counters = ExitReport() if self.group is None else self.group.read_report()
        lost = self.zygote.has_ended()
        self.close_sockets()
        if self.pidfd is not None:
            os.close(self.pidfd)
        self.zygote.sandboxes_alive -= 1
        reason = "its zygote has ended" if lost else ""
        return ExitReport(lost, counters.oom_kills, counters.refused_forks, reason)


def adopt_orphans() -> None:
    """Make orphans below this process its children. Raises SandboxUnavailable.

    bubblewrap starts a sandbox's init, which waits for a message from bubblewrap before any other
    step, also before it asks to die with its parent. If bubblewrap is killed before that, the init
    waits until the machine is restarted. It never runs any part of a job.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise SandboxUnavailable(f"prctl: {os.strerror(ctypes.get_errno())}")


def kill_orphans() -> None:
    """Kill and reap the orphans that this process has adopted."""
    # A glob of `[0-9]*/status` would test the file, which may fail for a process that has ended.
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            status = (directory / "status").read_text()
            fields = dict(line.split(":\t", 1) for line in status.splitlines())
        except (OSError, ValueError):  # the process has ended
            continue
        # A child that this process has started itself is in this pid namespace only.
        if fields["PPid"] == str(os.getpid()) and len(fields.get("NSpid", "").split()) > 1:
            pid = int(fields["Pid"])
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _make_pipe(retained: contextlib.ExitStack, passed: contextlib.ExitStack) -> tuple[int, int]:
    read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    retained.callback(os.close, read_end)
    passed.callback(os.close, write_end)
    return read_end, write_end


def _make_memory_file(data: bytes, passed: contextlib.ExitStack) -> int:
    """A file in memory with this data; returns its descriptor, at the start of the file."""
    fd = os.memfd_create("base")
    passed.callback(os.close, fd)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
