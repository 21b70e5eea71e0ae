"""One room, as the supervisor holds it: a bubblewrap process and the socket of its agent."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import select
import signal
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox import policy, seccomp
from sandbox.local import orphans
from sandbox.policy import Descriptors, Ground
from sandbox.protocol import SandboxUnavailable

_SOURCES = (
    "sandbox/__init__.py",
    "sandbox/paths.py",
    "sandbox/room/__init__.py",
    "sandbox/room/agent.py",
    "sandbox/room/collect.py",
    "sandbox/room/program.py",
    "sandbox/room/watch.py",
    "sandbox/room/wire.py",
)
_COMPLAINT_BYTES = 4096
_BURIAL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What every room of a supervisor has in common, read once."""

    ground: Ground
    filter: bytes
    texts: Mapping[str, bytes]
    """Files that are laid into each room, by path."""


def plan(ground: Ground) -> Plan:
    """The plan on this ground. Raises SandboxUnavailable on an architecture without a filter."""
    try:
        program = seccomp.program(platform.machine())
    except ValueError as error:
        raise SandboxUnavailable(str(error)) from error
    env = (f"env {name}={value}" for name, value in policy.environment(ground).items())
    given = "\n".join((f"python {ground.python}", f"main {policy.MAIN}", *env))
    top = Path(__file__).resolve().parent.parent.parent
    texts = {path: text.encode() for path, text in policy.ETC.items()}
    texts |= {f"{policy.ROOM_SOURCE}/{path}": (top / path).read_bytes() for path in _SOURCES}
    texts[policy.ROOM_GIVEN] = given.encode()
    return Plan(ground, program, texts)


class Room:
    """Made on construction; ready when its agent says so; gone when `bubblewrap` has ended.

    `control` is the agent's socket, until it is given away. Everything is killed with the room's
    init, whose end the kernel completes only after every process of the room has ended.
    """

    def __init__(self, common: Plan, size: int) -> None:
        self.size = size
        self.control, inside = socket.socketpair()
        self._complaints, complaints = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._info, info = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._init: int | None = None
        fds = [_memory(data) for data in (common.filter, *common.texts.values())]
        texts = dict(zip(common.texts, fds[1:], strict=True))
        given = Descriptors(inside.fileno(), info, fds[0], texts)
        try:
            self._bwrap = subprocess.Popen(
                policy.arguments(common.ground, size, given),
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                pass_fds=(inside.fileno(), info, *fds),
                cwd="/",
            )
        finally:
            for fd in (complaints, info, *fds):
                os.close(fd)
            inside.close()
        self.pidfd = os.pidfd_open(self._bwrap.pid)

    def became_ready(self) -> bool:
        """Whether the agent's first byte is here; to be called when `control` is readable.

        It is also the moment when init's pid is known to be a child of our own bubblewrap.
        """
        try:
            if self.control.recv(1) != b"R":
                return False
            pid = json.loads(os.read(self._info, 4096))["child-pid"]
            self._init = os.pidfd_open(pid)
            parent = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1]
            return int(parent) == self._bwrap.pid
        except (OSError, ValueError, KeyError):
            return False

    def complaint(self) -> str:
        """What bubblewrap or the agent said on their standard error, at most 4 KiB."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self._complaints, _COMPLAINT_BYTES).decode(errors="replace")
        return ""

    def kill(self) -> None:
        """Kill everything in it; `pidfd` becomes readable when that is done."""
        with contextlib.suppress(ProcessLookupError):
            if self._init is not None:
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            else:
                self._bwrap.kill()

    def bury(self) -> None:
        """Reap bubblewrap, which has ended, and close what is left."""
        self._bwrap.wait()
        if self._init is not None:  # had bubblewrap itself been killed, init would follow it
            select.select([self._init], [], [], _BURIAL_SECONDS)
        else:
            orphans.end()
        self.control.close()
        for fd in (self._complaints, self._info, self.pidfd, self._init):
            if fd is not None:
                os.close(fd)


def _memory(data: bytes) -> int:
    """A file in memory that is read from its start."""
    fd = os.memfd_create("room")
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
