"""One sandbox, as the supervisor holds it: its agent's socket, and a pidfd of its first process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import TYPE_CHECKING

from sandbox.agent.wire import BROKEN, READY
from sandbox.local.cgroups.sandbox_group import SandboxGroup
from sandbox.result import ExitReport

if TYPE_CHECKING:
    from sandbox.local.zygote import Zygote

_STDERR_BYTES = 4096


class Instance:
    """The sandbox `number`, asked for on construction; born when its zygote has copied itself;
    ready when its agent says so; gone when `pidfd` is readable, for the kernel ends its first
    process after all others.

    `control` is the agent's socket, until it is given away; `inside` its other end. `group` is the
    control group that it puts itself into, where there are any. `doomed` is one that was killed: it
    may be there for a moment longer. `until` is when it is overdue, on the monotonic clock.
    """

    def __init__(self, number: int, zygote: Zygote, group: SandboxGroup | None) -> None:
        self.number, self.zygote, self.group = number, zygote, group
        self.control, self.inside = socket.socketpair()
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
            text = self.control.recv(_STDERR_BYTES)
        except OSError as error:
            return str(error)
        if text == READY:
            self.ready, self.until = True, float("inf")
            return None
        return text.removeprefix(BROKEN).decode(errors="replace")

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
        self.control.close()
        if self.pidfd is not None:
            os.close(self.pidfd)
        self.zygote.living -= 1
        why = "its zygote has ended" if lost else ""
        return ExitReport(lost, hits.oom_kills, hits.refused_forks, why)
