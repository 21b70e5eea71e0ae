"""One generation of rooms, as the supervisor holds it: a house, and the nursery living in it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
from collections import deque
from pathlib import Path

from sandbox import policy
from sandbox.local import orphans
from sandbox.local.house import Descriptors, house
from sandbox.local.plan import Plan
from sandbox.local.room_group import RoomGroup
from sandbox.local.rooms import Room

_MESSAGE_BYTES = 8192
_COMPLAINT_BYTES = 4096
_BURIAL_SECONDS = 5.0
_ENDED = (BrokenPipeError, ConnectionResetError)
"""What asking a nursery that has ended raises, whose end is told in its own way."""


class Generation:
    """Started on construction, which raises OSError where this process is short of something and
    leaves nothing then; `ready` when its nursery says so; gone when `pidfd` is readable.

    Everything in it is killed with the nursery, whose end the kernel completes only after every
    process of every room has ended. `room/nursery.py` tells the messages.
    """

    def __init__(self, plan: Plan, stock: policy.Stock) -> None:
        self.stock, self.ready = stock, False
        self.made = self.living = 0
        self._asked: deque[Room] = deque()
        self._nursery: int | None = None
        with contextlib.ExitStack() as own, contextlib.ExitStack() as passed:
            self.talk, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            own.enter_context(self.talk)
            passed.enter_context(inside)
            self._complaints, complaints = _pipe(own, passed)
            self._info, info = _pipe(own, passed)
            texts = {at: _memory(data, passed) for at, data in plan.texts.items()}
            given = Descriptors(inside.fileno(), info, texts)
            self._bwrap = subprocess.Popen(
                house(plan.ground, given, stock),
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=(inside.fileno(), info, *texts.values()),
                cwd="/",
            )
            own.callback(self._bwrap.wait)
            own.callback(self._bwrap.kill)
            self.pidfd = os.pidfd_open(self._bwrap.pid)
            own.pop_all()  # all of it is there, and `bury` closes it

    def make(self, size: int, group: RoomGroup | None) -> Room:
        """Ask for a room that puts itself into `group`. It is made as soon as the nursery gets to
        it; or never, where that has ended, as will be told. Raises OSError where this process is
        short of something.
        """
        given: list[int] = []
        try:
            given += [] if group is None else group.doors()
            clock = None if group is None else group.clock()
            given += [] if clock is None else [clock]
            message = b"make %d %d" % (size, clock is not None)
            room = Room(size, self, group)
            try:
                with room.inside as inside, contextlib.suppress(*_ENDED):
                    socket.send_fds(self.talk, [message], [inside.fileno(), *given])
            except OSError:
                room.control.close()
                raise
        finally:
            for each in given:
                os.close(each)
        self._asked.append(room)
        self.made += 1
        self.living += 1
        return room

    def heard(self) -> tuple[Room, str] | None:
        """Take in one message. Returns a room that has been made, or was not: and then why; None
        where it was not about a room. Raises EOFError where the nursery has ended.
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
            self.kill()  # no nursery of ours
            return None
        room = self._asked.popleft()
        if fds:
            room.born(fds[0])
        return room, rest

    def lost(self) -> bool:
        """Whether the nursery has ended. It closes its socket before any of its rooms dies."""
        if self.talk.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self.talk, select.POLLRDHUP)
        return bool(poll.poll(0))

    def complaint(self) -> str:
        """What bubblewrap or the nursery said on their standard error, at most 4 KiB."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self._complaints, _COMPLAINT_BYTES).decode(errors="replace")
        return ""

    def kill(self) -> None:
        """Kill everything in it; `pidfd` becomes readable when that is done."""
        with contextlib.suppress(ProcessLookupError):
            if self._nursery is not None:
                signal.pidfd_send_signal(self._nursery, signal.SIGKILL)
            else:
                self._bwrap.kill()

    def bury(self) -> None:
        """Reap bubblewrap, which has ended or is about to, and close what is left."""
        self._bwrap.wait()
        if self._nursery is not None:  # had bubblewrap itself been killed, it would follow
            select.select([self._nursery], [], [], _BURIAL_SECONDS)
        else:
            orphans.end()
        self.talk.close()
        for fd in (self._complaints, self._info, self.pidfd, self._nursery):
            if fd is not None:
                os.close(fd)

    def _settled(self) -> None:
        """The nursery is there. Its pid is now known to be a child of our own bubblewrap."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            pid = json.loads(os.read(self._info, 4096))["child-pid"]
            pidfd = os.pidfd_open(pid)
            parent = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1]
            if int(parent) == self._bwrap.pid:
                self._nursery, self.ready = pidfd, True
            else:
                os.close(pidfd)


def _pipe(own: contextlib.ExitStack, passed: contextlib.ExitStack) -> tuple[int, int]:
    read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    own.callback(os.close, read)
    passed.callback(os.close, write)
    return read, write


def _memory(data: bytes, passed: contextlib.ExitStack) -> int:
    """A file in memory that is read from its start."""
    fd = os.memfd_create("house")
    passed.callback(os.close, fd)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
