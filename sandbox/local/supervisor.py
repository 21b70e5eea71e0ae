"""The process that owns every room of one worker: `python -m sandbox.local FD`.

It has one thread, because bubblewrap's `--die-with-parent` follows the thread that started it. It
lives as long as the socket FD: when its other end closes, for whatever reason, all rooms die and it
exits. Messages are JSON datagrams; job bytes never pass here, for a room's own socket is handed
over (SCM_RIGHTS).

    open {python, bwrap, uid, generation, private}
                                    -> {"open": {...}} or {"unavailable": why}
    keep {rooms, size}              how many rooms stand ready in each line
    warm {}                         -> {"warm": true}, when they do, with all loaded that is to be
    take {number, size, seconds, memory, processes, cpus, libraries}
                                    -> {"room": number} + descriptor, or {"failed": number, "why"}
    drop {number}                   -> {"gone": number, "lost", "oom_kills", "refused_forks"},
                                    when nothing of the room is left

Unasked, and once a second at most:    {"pool": {ready, making, wanted}}, where that has changed
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
import time
from dataclasses import asdict, replace
from typing import Any

from sandbox import remedies
from sandbox.local import ground, orphans, plan, rooms, stepdown
from sandbox.local.cgroup import Cgroups
from sandbox.local.pool import Pool
from sandbox.local.wish import Gone, Wish
from sandbox.protocol import PoolCount, SandboxUnavailable

MESSAGE_BYTES = 64 * 1024
COUNT_SECONDS = 1.0
"""How often the pool's count is sent at most: a run changes it three times."""
_MOST_DESCRIPTORS = 1 << 20
"""Some sixty rooms' worth. Where a machine allows a thousand times as many, whoever closes all that
he has one by one would take minutes (a kernel without close_range)."""


class Supervisor:
    """One conversation with one worker."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        # Not epoll: its watches are counted for each user of the host, and rooms take them, too.
        self._selector = selectors.PollSelector()
        self._selector.register(control, selectors.EVENT_READ, self._receive)
        self._pool: Pool | None = None
        self._groups: Cgroups | None = None
        self._asked_for_warmth = False
        self._counted: PoolCount | None = None
        self._count_at = 0.0
        self._over = False

    def serve(self) -> None:
        """Answer messages until the worker is gone; then every room is killed."""
        self._control.set_inheritable(False)
        try:
            while not self._over:
                self._step()
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            if self._pool is not None:
                self._pool.end()
            if self._groups is not None:
                self._groups.close()

    def _step(self) -> None:
        """Wait for whatever comes next and deal with it."""
        wait = float("inf")
        if self._pool is not None:
            wait = min(self._pool.overdue(), self._until_counted(self._pool.count))
        for key, _ in self._selector.select(None if wait == float("inf") else wait):
            # What was dealt with earlier in this round may have let go of it.
            if self._selector.get_map().get(key.fd) is key:
                key.data()
        if self._asked_for_warmth and self._pool is not None and self._pool.warm:
            self._asked_for_warmth = False
            self._tell({"warm": True})

    def _until_counted(self, count: PoolCount) -> float:
        """Send the count where it has changed; returns the seconds until it may be sent."""
        if count == self._counted:
            return float("inf")
        now = time.monotonic()
        if now < self._count_at:
            return self._count_at - now
        self._counted, self._count_at = count, now + COUNT_SECONDS
        self._tell({"pool": asdict(count)})
        return float("inf")

    def _receive(self) -> None:
        data = self._control.recv(MESSAGE_BYTES)
        if not data:
            self._over = True
            return
        message = json.loads(data)
        word = message.pop("do")
        if word == "open":
            self._open(**message)
        elif self._pool is not None:
            self._act(self._pool, word, message)

    def _act(self, pool: Pool, word: str, message: dict[str, Any]) -> None:
        if word == "take":
            pool.take(Wish(**message))
        elif word == "drop":
            pool.drop(message["number"])
        elif word == "keep":
            pool.keep(message["rooms"], message["size"])
        elif word == "warm":
            self._asked_for_warmth = True
            pool.load()

    def _open(
        self, python: str, bwrap: str | None, uid: int, generation: int, private: list[str]
    ) -> None:
        try:
            orphans.adopt()
            found = ground.find(python, bwrap)
            ground.require_unseen(found, private)
            common = plan.plan(found)  # reads our own source: before the step down
            version = ground.version(found)
            groups = Cgroups.open(uid)  # root's affair, if anyone's
            self._groups = groups if isinstance(groups, Cgroups) else None
            common = replace(common, ground=stepdown.step_down(found, uid))
        except SandboxUnavailable as reason:
            self._tell({"unavailable": str(reason)})
            return
        tell = (self._give, self._fail, self._gone)
        self._pool = Pool(common, self._groups, generation, self._selector, *tell)
        facts = {
            "bubblewrap": version,
            "uid": os.geteuid(),
            "python": found.python,
            "cgroup": groups.detail if isinstance(groups, Cgroups) else None,
            "no_cgroup": None if isinstance(groups, Cgroups) else groups.reason,
        }
        self._tell({"open": facts})

    def _give(self, number: int, room: rooms.Room) -> None:
        self._tell({"room": number}, room.control.fileno())
        room.control.close()

    def _fail(self, number: int, complaint: str) -> None:
        self._tell({"failed": number, "why": remedies.explain(complaint, remedies.look())})

    def _gone(self, gone: Gone) -> None:
        self._tell(
            {
                "gone": gone.number,
                "lost": gone.lost,
                "oom_kills": gone.hits.oom_kills,
                "refused_forks": gone.hits.refused_forks,
            }
        )

    def _tell(self, message: dict[str, Any], *fds: int) -> None:
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
    rooms send some, too. Who has more of them than his own limit sends none, so that of supervisor
    and nurseries is to be as high as it goes; code in a room has a low one (`policy.rlimits`).
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
