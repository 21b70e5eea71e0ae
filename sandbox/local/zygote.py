"""One zygote as the supervisor holds it, a base container and the process that is copied; and the
sandboxes that are its copies.

Why: docs/decisions/0010-rooms-are-forked.md
"""

from __future__ import annotations

import contextlib
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
from sandbox.local import orphans
from sandbox.local.base_container import Descriptors, command
from sandbox.local.cgroups.sandbox_group import SandboxGroup
from sandbox.local.rootfs import RootfsSpec
from sandbox.result import ExitReport

_MESSAGE_BYTES = 8192
_STDERR_BYTES = 4096
_REAP_SECONDS = 5.0
_ENDED = (BrokenPipeError, ConnectionResetError)
"""What asking a zygote that has ended raises, whose end is noticed in its own way."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one sandbox is to be: its `/work` of so many bytes and inodes over layers, or with a
    copy of them, and with the port of a proxy or 0.
    """

    number: int
    bytes: int
    inodes: int
    layers: Sequence[str]
    copies: bool
    proxy_port: int


class Zygote:
    """Started on construction, which raises OSError where this process is short of something and
    leaves nothing then; `ready` when it says so; gone when `pidfd` is readable.

    Everything in it is killed with it, and the kernel completes its end only after every process of
    every sandbox has ended. `agent/zygote.py` has the messages. `made` and `living` count its
    sandboxes; `until` is when it is overdue, on the monotonic clock.
    """

    def __init__(self, spec: RootfsSpec, *, libraries: bool) -> None:
        self.libraries = libraries
        self.ready = False
        self.made = self.living = 0
        self.until = time.monotonic() + policy.WARM_SECONDS
        self._asked: deque[Instance] = deque()
        self._process: int | None = None
        with contextlib.ExitStack() as own, contextlib.ExitStack() as passed:
            self.talk, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            own.enter_context(self.talk)
            passed.enter_context(inside)
            self._stderr, stderr = _pipe(own, passed)
            self._info, info = _pipe(own, passed)
            texts = {at: _memory(data, passed) for at, data in spec.texts.items()}
            given = Descriptors(inside.fileno(), info, texts)
            self._bwrap = subprocess.Popen(
                command(spec.host_env, given, libraries=libraries),
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=(inside.fileno(), info, *texts.values()),
                cwd="/",
            )
            own.callback(self._bwrap.wait)
            own.callback(self._bwrap.kill)
            self.pidfd = os.pidfd_open(self._bwrap.pid)
            own.pop_all()  # all of it is there, and `close` closes it

    def make(self, wanted: Wanted, group: SandboxGroup | None) -> Instance:
        """Ask for a sandbox that puts itself into `group`. It is made as soon as the zygote gets to
        it; or never, where that has ended, as will be noticed. Raises OSError where this process is
        short of something.
        """
        given: list[int] = []
        try:
            given += [] if group is None else group.member_lists()
            clock = None if group is None else group.clock()
            given += [] if clock is None else [clock]
            flags = int(clock is not None), int(wanted.copies)
            numbers = (wanted.bytes, wanted.inodes, wanted.proxy_port, *flags)
            message = " ".join(("make", *map(str, numbers), *wanted.layers)).encode()
            instance = Instance(wanted.number, self, group)
            try:
                with instance.inside as inside, contextlib.suppress(*_ENDED):
                    socket.send_fds(self.talk, [message], [inside.fileno(), *given])
            except OSError:
                instance.control.close()
                raise
        finally:
            for each in given:
                os.close(each)
        seconds = policy.COPIED_SECONDS if wanted.copies else policy.READY_SECONDS
        instance.until = time.monotonic() + seconds
        self._asked.append(instance)
        self.made += 1
        self.living += 1
        return instance

    def receive(self) -> tuple[Instance, str] | None:
        """Take in one message. Returns a sandbox that has been made, or was not: and then why; None
        where it was not about a sandbox. Raises EOFError where the zygote has ended.
        """
        try:
            data, fds, _, _ = socket.recv_fds(self.talk, _MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            data, fds = b"", []
        if not data:
            raise EOFError
        word, _, rest = data.decode(errors="replace").partition(" ")
        if word == "ready":
            self._settled()
            return None
        if not self._asked or (word == "made") != bool(fds):
            self.kill()  # not a zygote that this supervisor started
            return None
        instance = self._asked.popleft()
        if fds:
            instance.born(fds[0])
        return instance, rest

    def lost(self) -> bool:
        """Whether it has ended. It closes its socket before any of its sandboxes dies."""
        if self.talk.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self.talk, select.POLLRDHUP)
        return bool(poll.poll(0))

    def stderr_text(self) -> str:
        """What bubblewrap or the zygote said on their standard error, at most 4 KiB."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self._stderr, _STDERR_BYTES).decode(errors="replace")
        return ""

    def kill(self) -> None:
        """Kill everything in it; `pidfd` becomes readable when that is done."""
        with contextlib.suppress(ProcessLookupError):
            if self._process is not None:
                signal.pidfd_send_signal(self._process, signal.SIGKILL)
            else:
                self._bwrap.kill()

    def close(self) -> None:
        """Reap bubblewrap, which has ended or is about to, and close what is left."""
        self._bwrap.wait()
        if self._process is not None:  # had bubblewrap itself been killed, it would follow
            select.select([self._process], [], [], _REAP_SECONDS)
        else:
            orphans.end()
        self.talk.close()
        for fd in (self._stderr, self._info, self.pidfd, self._process):
            if fd is not None:
                os.close(fd)

    def _settled(self) -> None:
        """The zygote is there. Its pid is now known to be a child of our own bubblewrap; where it
        is not, all of it is killed.
        """
        with contextlib.suppress(OSError, ValueError, KeyError):
            pid = json.loads(os.read(self._info, 4096))["child-pid"]
            pidfd = os.pidfd_open(pid)
            parent = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1]
            if int(parent) == self._bwrap.pid:
                self._process, self.ready, self.until = pidfd, True, float("inf")
                return
            os.close(pidfd)
        self.kill()


def _pipe(own: contextlib.ExitStack, passed: contextlib.ExitStack) -> tuple[int, int]:
    read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    own.callback(os.close, read)
    passed.callback(os.close, write)
    return read, write


def _memory(data: bytes, passed: contextlib.ExitStack) -> int:
    """A file in memory that is read from its start."""
    fd = os.memfd_create("base")
    passed.callback(os.close, fd)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class Instance:
    """The sandbox `number`, asked for on construction; born when its zygote has copied itself;
    ready when its agent says so; gone when `pidfd` is readable, for the kernel ends its first
    process after all others.

    `control` is the agent's socket, until it is given away; `inside` its other end. `listening` is
    what the agent handed over when it was ready: where its code finds a proxy. `group` is the
    control group that it puts itself into, where there are any. `doomed` is one that was killed: it
    may be there for a moment longer. `until` is when it is overdue, on the monotonic clock.
    """

    def __init__(self, number: int, zygote: Zygote, group: SandboxGroup | None) -> None:
        self.number, self.zygote, self.group = number, zygote, group
        self.control, self.inside = socket.socketpair()
        self.listening: list[int] = []
        self.pidfd: int | None = None
        self.ready = self.doomed = False
        self.until = float("inf")

    def born(self, pidfd: int) -> None:
        """It has a first process."""
        self.pidfd = pidfd
        if self.doomed:
            self.kill()

    def became_ready(self) -> str | None:
        """To be called when `control` is readable: None when the agent stands ready, else why not,
        which may be the empty string.
        """
        try:
            text, self.listening, _, _ = socket.recv_fds(
                self.control, _STDERR_BYTES, 1, socket.MSG_CMSG_CLOEXEC
            )
        except OSError as error:
            return str(error)
        if text == READY:
            self.ready, self.until = True, float("inf")
            return None
        return text.removeprefix(BROKEN).decode(errors="replace")

    def give_away(self) -> None:
        """Close the sockets that somebody else has now, or that nobody wants."""
        self.control.close()
        while self.listening:
            os.close(self.listening.pop())

    def kill(self) -> None:
        """Kill everything in it."""
        self.doomed = True
        if self.pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def kill_thoroughly(self) -> None:
        """Kill everything in it, and not by way of its first process alone where it has a group;
        one that was not born yet goes with its zygote.
        """
        self.kill()
        if self.pidfd is None:
            self.zygote.kill()
        elif self.group is not None:
            self.group.root_out()

    def close(self) -> ExitReport:
        """Close what is left of it, once it has ended."""
        hits = ExitReport() if self.group is None else self.group.outcome()
        lost = self.zygote.lost()
        self.give_away()
        if self.pidfd is not None:
            os.close(self.pidfd)
        self.zygote.living -= 1
        why = "its zygote has ended" if lost else ""
        return ExitReport(lost, hits.oom_kills, hits.refused_forks, why)
