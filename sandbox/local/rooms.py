"""One room, as the supervisor holds it: its agent's socket, and a pidfd of its first process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import TYPE_CHECKING

from sandbox.local.cgroup import Hits, RoomGroup

if TYPE_CHECKING:
    from sandbox.local.generation import Generation

_READY, _BROKEN = b"R", b"!"
_COMPLAINT_BYTES = 4096


class Room:
    """Asked for on construction; born when its nursery has copied itself; ready when its agent says
    so; gone when `pidfd` is readable, for the kernel ends its first process after all others.

    `control` is the agent's socket, until it is given away; `inside` its other end. `group` is the
    control group that it puts itself into, where there are any. `doomed` is a room that was killed:
    it may be there for a moment longer.
    """

    def __init__(self, size: int, generation: Generation, group: RoomGroup | None) -> None:
        self.size, self.generation, self.group = size, generation, group
        self.control, self.inside = socket.socketpair()
        self.pidfd: int | None = None
        self.doomed = False

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
            said = self.control.recv(_COMPLAINT_BYTES)
        except OSError as error:
            return str(error)
        if said == _READY:
            return None
        return said.removeprefix(_BROKEN).decode(errors="replace")

    def kill(self) -> None:
        """Kill everything in it."""
        self.doomed = True
        if self.pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def root_out(self) -> None:
        """Kill everything in it, and not by way of its first process alone where it has a group."""
        self.kill()
        if self.group is not None and self.pidfd is not None:
            self.group.root_out()

    def bury(self) -> Hits:
        """Close what is left of it, once it has ended; returns what its control group saw."""
        hits = Hits()
        if self.group is not None:
            hits = self.group.outcome()
            self.group.remove()
        self.control.close()
        if self.pidfd is not None:
            os.close(self.pidfd)
        self.generation.living -= 1
        return hits
