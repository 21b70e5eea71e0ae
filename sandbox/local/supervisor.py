"""The process that owns every sandbox of one worker: `python -m sandbox.local FD`.

It has one thread, because bubblewrap's `--die-with-parent` follows the thread that started it. It
lives as long as the socket FD: when its other end closes, for whatever reason, all sandboxes die
and it exits. Messages are JSON datagrams; job bytes never pass here, for a sandbox's own socket is
handed over (SCM_RIGHTS). The worker chooses the numbers.

    open {python, bwrap, uid, rotation, private, programs, layers}
                             -> {"open": {...}} or {"unavailable": why}
    make {number, bytes, inodes, layers, copies, proxy_port}
                             -> {"made": number, "libraries"} + descriptor, when its agent is
                                ready, and another of the listening socket of a proxy; or
                                {"failed": number, "why", "lost"}
    start {number, seconds, memory, processes, cpus}
                             -> {"started": number}, or {"failed": ...}
    end {number}             -> {"ended": number, "report": {...}}
    warm {}                  -> {"warm": true}, when sandboxes are made with libraries loaded,
                                or {"cold": WHY}, where they cannot be loaded beforehand

`ended` is also sent unasked, once for each sandbox that was made, when nothing of it is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import selectors
import signal
import socket
import sys
from dataclasses import replace
from typing import Any

from sandbox.local import host, orphans, rootfs, stepdown
from sandbox.local.cgroups.groups import Cgroups
from sandbox.local.factory import Factory
from sandbox.local.zygote import Wanted
from sandbox.protocol import SandboxUnavailable

MESSAGE_BYTES = 64 * 1024
_MOST_DESCRIPTORS = 1 << 20
"""Some sixty sandboxes' worth. Where a machine allows a thousand times as many, a process that
closes all that he has one by one would take minutes (a kernel without close_range).
"""


class Supervisor:
    """One conversation with one worker."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        # Not epoll: its watches are counted for each user of the host, and sandboxes take them,
        # too.
        self._selector = selectors.PollSelector()
        self._selector.register(control, selectors.EVENT_READ, self._receive)
        self._factory: Factory | None = None
        self._groups: Cgroups | None = None
        self._over = False

    def serve(self) -> None:
        """Answer messages until the worker is gone; then every sandbox is killed."""
        self._control.set_inheritable(False)
        try:
            while not self._over:
                self._step()
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            if self._factory is not None:
                self._factory.close()
            if self._groups is not None:
                self._groups.close()

    def _step(self) -> None:
        """Wait for whatever comes next, deal with it, and report what came of it."""
        wait = float("inf") if self._factory is None else self._factory.overdue()
        for key, _ in self._selector.select(None if wait == float("inf") else wait):
            # What was dealt with earlier in this round may have let go of it.
            if self._selector.get_map().get(key.fd) is key:
                key.data()
        if self._factory is not None:
            self._report(self._factory)

    def _report(self, factory: Factory) -> None:
        while factory.outbox:
            message, instance = factory.outbox.pop(0)
            if instance is None:
                self._send(message)
                continue
            try:
                self._send(message, instance.control.fileno(), *instance.listening)
            except (BrokenPipeError, ConnectionResetError):
                raise  # there is nobody to give it to
            except OSError as error:  # too many descriptors are on their way
                instance.kill()
                why = f"one could not be handed over: {error}"
                self._send({"failed": instance.number, "why": why, "lost": False})
            instance.give_away()

    def _receive(self) -> None:
        data = self._control.recv(MESSAGE_BYTES)
        if not data:
            self._over = True
            return
        message = json.loads(data)
        match message.pop("do"), self._factory:
            case "open", None:
                self._open(**message)
            case "make", Factory() as factory:
                factory.make(Wanted(**message))
            case "start", Factory() as factory:
                factory.start(**message)
            case "end", Factory() as factory:
                factory.end(**message)
            case "warm", Factory() as factory:
                factory.warm()

    def _open(
        self,
        python: str,
        bwrap: str | None,
        uid: int,
        rotation: int,
        private: list[str],
        programs: list[str],
        layers: str | None,
    ) -> None:
        try:
            orphans.adopt()
            found = host.find(python, bwrap, programs, layers)
            host.require_unseen(found, private)
            spec = rootfs.spec(found)  # reads our own source: before the step down
            version = host.version(found)
            groups = Cgroups.open(uid)  # root's affair, if anyone's
            self._groups = groups if isinstance(groups, Cgroups) else None
            spec = replace(spec, host_env=stepdown.step_down(found, uid))
        except SandboxUnavailable as reason:
            self._send({"unavailable": str(reason)})
            return
        if no_layers := host.closed_layers(spec.host_env):
            spec = replace(spec, host_env=replace(spec.host_env, layers=None))
        self._factory = Factory(spec, self._groups, rotation, self._selector)
        facts = {
            "bubblewrap": version,
            "uid": os.geteuid(),
            "python": found.python,
            "cgroup": groups.detail if isinstance(groups, Cgroups) else None,
            "no_cgroup": None if isinstance(groups, Cgroups) else groups.reason,
            "no_layers": no_layers,
        }
        self._send({"open": facts})

    def _send(self, message: dict[str, Any], *fds: int) -> None:
        socket.send_fds(self._control, [json.dumps(message).encode()], fds)


def main() -> None:
    """Serve the socket whose descriptor is the only argument."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A terminal's or an init's signal is meant for the worker, which may want to drain first.
        # Caught, not ignored: what is ignored stays so in the programs that are started.
        signal.signal(number, lambda *_: None)
    _raise_descriptors()
    with contextlib.suppress(OSError):
        os.chdir("/")
    Supervisor(socket.socket(fileno=int(sys.argv[1]))).serve()


def _raise_descriptors() -> None:
    """Descriptors that are on their way through sockets are counted for each user of the host, and
    sandboxes send some, too. Who has more of them than his own limit sends none, so that of
    supervisor and zygotes is to be as high as it goes; code has a low one (`policy.rlimits`).
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
