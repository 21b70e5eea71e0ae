"""The process that owns every sandbox of one worker: `python -m sandbox.local FD`.

It has one thread, because bubblewrap's `--die-with-parent` follows the thread that started it. It
lives as long as the other end of the socket FD is open: then it ends all sandboxes and exits.
Messages are JSON datagrams. No bytes of a job pass through it, because it hands the socket of each
sandbox to the worker (SCM_RIGHTS). The worker chooses the numbers of sandboxes.

    open {python, bwrap, uid, rotation, private, programs, trees_directory}
                             -> {"open": {...}} or {"unavailable": reason}
    make {number, bytes, inodes, trees, copies_trees, proxy_port}
                             -> {"made": number, "libraries"} + descriptor, when the agent is ready,
                                + the listening socket of a proxy, if there is one; or
                                {"failed": number, "reason", "lost"}
    start {number, seconds, memory, processes, cpus}
                             -> {"started": number}, or {"failed": ...}
    end {number}             -> {"ended": number, "report": {...}}
    warm {}                  -> {"warm": true}, when new sandboxes have libraries loaded, or
                                {"cold": reason}, if they cannot be preloaded

`ended` is sent once for each sandbox that was made, after all of its processes have ended, also
without a request.
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

from sandbox.local import host, stepdown
from sandbox.local.base_container import read_spec
from sandbox.local.cgroups.groups import Cgroups
from sandbox.local.factory import Factory
from sandbox.local.zygote import SandboxRequest, adopt_orphans
from sandbox.protocol import SandboxUnavailable

MESSAGE_BYTES = 64 * 1024
_MAX_DESCRIPTORS = 1 << 20
"""Enough for some sixty sandboxes. On a kernel without close_range, a process that closes all of
its possible descriptors one by one would take minutes with a much higher limit.
"""


class SandboxSupervisor:
    """One conversation with one worker."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        # Not epoll: the kernel counts its watches for each user of the host, and sandboxes use
        # them, too.
        self._selector = selectors.PollSelector()
        self._selector.register(control, selectors.EVENT_READ, self._receive)
        self._factory: Factory | None = None
        self._groups: Cgroups | None = None
        self._worker_has_ended = False

    def serve(self) -> None:
        """Answer messages until the worker has ended; then kill every sandbox."""
        self._control.set_inheritable(False)
        try:
            while not self._worker_has_ended:
                self._handle_events()
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            if self._factory is not None:
                self._factory.close()
            if self._groups is not None:
                self._groups.close()

    def _handle_events(self) -> None:
        """Wait for the next events, handle them, and send the messages that result."""
        wait = float("inf") if self._factory is None else self._factory.enforce_deadlines()
        for key, _ in self._selector.select(None if wait == float("inf") else wait):
            # An event that was handled before may have unregistered this one.
            if self._selector.get_map().get(key.fd) is key:
                key.data()
        if self._factory is not None:
            self._send_outbox(self._factory)

    def _send_outbox(self, factory: Factory) -> None:
        while factory.outbox:
            message, sandbox = factory.outbox.pop(0)
            if sandbox is None:
                self._send(message)
                continue
            try:
                self._send(message, sandbox.control.fileno(), *sandbox.proxy_sockets)
            except (BrokenPipeError, ConnectionResetError):
                raise  # the worker has ended
            except OSError as error:  # too many descriptors are in flight
                sandbox.kill()
                reason = f"a sandbox could not be passed to the worker: {error}"
                self._send({"failed": sandbox.number, "reason": reason, "lost": False})
            sandbox.close_sockets()

    def _receive(self) -> None:
        data = self._control.recv(MESSAGE_BYTES)
        if not data:
            self._worker_has_ended = True
            return
        message = json.loads(data)
        match message.pop("do"), self._factory:
            case "open", None:
                self._open(**message)
            case "make", Factory() as factory:
                factory.make(SandboxRequest(**message))
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
        trees_directory: str | None,
    ) -> None:
        try:
            adopt_orphans()
            host_env = host.find_environment(python, bwrap, programs, trees_directory)
            host.require_invisible(host_env, private)
            spec = read_spec(host_env)  # reads this package's source, before the step down
            bwrap_version = host.bwrap_version(host_env)
            groups = Cgroups.open(uid)  # usually needs root
            self._groups = groups if isinstance(groups, Cgroups) else None
            spec = replace(spec, host_env=stepdown.step_down(host_env, uid))
        except SandboxUnavailable as error:
            self._send({"unavailable": str(error)})
            return
        if trees_fault := host.find_trees_fault(spec.host_env):
            spec = replace(spec, host_env=replace(spec.host_env, trees=None))
        self._factory = Factory(spec, self._groups, rotation, self._selector)
        facts = {
            "bubblewrap": bwrap_version,
            "uid": os.geteuid(),
            "python": host_env.python,
            "cgroup": groups.detail if isinstance(groups, Cgroups) else None,
            "no_cgroup": None if isinstance(groups, Cgroups) else groups.reason,
            "no_trees": trees_fault,
        }
        self._send({"open": facts})

    def _send(self, message: dict[str, Any], *fds: int) -> None:
        socket.send_fds(self._control, [json.dumps(message).encode()], fds)


def main() -> None:
    """Serve the socket; its descriptor is the only argument."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A signal of a terminal or an init is meant for the worker, which may have to drain first.
        # It is handled, not ignored: an ignored signal stays ignored in started programs.
        signal.signal(number, lambda *_: None)
    _raise_descriptor_limit()
    with contextlib.suppress(OSError):
        os.chdir("/")
    SandboxSupervisor(socket.socket(fileno=int(sys.argv[1]))).serve()


def _raise_descriptor_limit() -> None:
    """Raise this process's limit of descriptors, also for its zygotes.

    The kernel counts descriptors in flight through sockets for each user of the host, and sandboxes
    send some, too. If a user has more descriptors in flight than the limit of a process, that
    process cannot send any. The code's limit is low (`policy.rlimits`).
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
