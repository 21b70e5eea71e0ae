"""The process that owns every room of one worker: `python -m sandbox.local FD`.

It has one thread, because bubblewrap's `--die-with-parent` follows the thread that started it. It
lives as long as the socket FD: when its other end closes, for whatever reason, all rooms die and it
exits. Messages are JSON datagrams; job bytes never pass here, for a room's own socket is handed
over (SCM_RIGHTS).

    open {python, bwrap, uid}      -> {"open": {...}} or {"unavailable": why}
    lay {path} + descriptor        a file that later rooms have
    keep {rooms, size}             how many rooms stand ready
    take {id, size, seconds}       -> {"room": id} + descriptor, or {"failed": id, "why": ...}
    drop {id}                      -> {"gone": id}, when nothing of the room is left
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
from dataclasses import replace
from typing import Any

from sandbox import remedies
from sandbox.local import ground, orphans, rooms, stepdown
from sandbox.local.pool import Pool, Standing, Wish
from sandbox.protocol import SandboxUnavailable

MESSAGE_BYTES = 64 * 1024


class Supervisor:
    """One conversation with one worker."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._pool: Pool | None = None

    def serve(self) -> None:
        """Answer messages until the worker is gone; then every room is killed."""
        self._control.set_inheritable(False)
        try:
            while self._step():
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            standing = tuple(self._pool or ())
            for each in standing:
                each.room.kill()
            for each in standing:
                each.room.bury()

    def _step(self) -> bool:
        """Wait for whatever comes next and deal with it; False when the worker is gone."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            for each in self._pool or ():
                selector.register(each.room.pidfd, selectors.EVENT_READ, each)
                if not each.ready:
                    selector.register(each.room.control, selectors.EVENT_READ, each)
            wait = self._pool.overdue() if self._pool else None
            events = selector.select(None if wait == float("inf") else wait)
        for key, _ in events:
            if key.fileobj is self._control:
                if not self._receive():
                    return False
            elif self._pool is not None:
                self._look_after(self._pool, key)
        return True

    def _look_after(self, pool: Pool, key: selectors.SelectorKey) -> None:
        standing: Standing = key.data
        if standing not in pool:  # it ended earlier in this round
            return
        if key.fileobj == standing.room.pidfd:
            pool.ended(standing)
        else:
            pool.spoke(standing)

    def _receive(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
        if not data:
            return False
        message = json.loads(data)
        word = message.pop("do")
        if word == "open":
            self._open(**message)
        elif self._pool is not None:
            self._act(self._pool, word, message, fds)
        return True

    def _act(self, pool: Pool, word: str, message: dict[str, Any], fds: list[int]) -> None:
        if word == "take":
            pool.take(Wish(message["id"], message["size"], message["seconds"]))
        elif word == "drop":
            pool.drop(message["id"])
        elif word == "keep":
            pool.keep(message["rooms"], message["size"])
        elif word == "lay":
            with open(fds[0], "rb") as file:  # noqa: PTH123
                texts = {**pool.plan.texts, message["path"]: file.read()}
            pool.plan = replace(pool.plan, texts=texts)

    def _open(self, python: str, bwrap: str | None, uid: int) -> None:
        try:
            orphans.adopt()
            found = ground.find(python, bwrap)
            plan = rooms.plan(found)  # reads our own source: before the step down
            version = ground.version(found)
            plan = replace(plan, ground=stepdown.step_down(found, uid))
        except SandboxUnavailable as reason:
            self._tell({"unavailable": str(reason)})
            return
        self._pool = Pool(plan, self._give, self._fail, self._gone)
        facts = {"bubblewrap": version, "uid": os.geteuid(), "python": found.python}
        self._tell({"open": facts})

    def _give(self, number: int, room: rooms.Room) -> None:
        self._tell({"room": number}, room.control.fileno())
        room.control.close()

    def _fail(self, number: int, complaint: str) -> None:
        self._tell({"failed": number, "why": remedies.explain(complaint, remedies.look())})

    def _gone(self, number: int) -> None:
        self._tell({"gone": number})

    def _tell(self, message: dict[str, Any], *fds: int) -> None:
        socket.send_fds(self._control, [json.dumps(message).encode()], fds)


def main() -> None:
    """Serve the socket whose descriptor is the only argument."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A terminal's or an init's signal is meant for the worker, which may want to drain first.
        # Caught, not ignored: what is ignored stays so in the programs that are started.
        signal.signal(number, lambda *_: None)
    with contextlib.suppress(OSError):
        os.chdir("/")
    Supervisor(socket.socket(fileno=int(sys.argv[1]))).serve()
