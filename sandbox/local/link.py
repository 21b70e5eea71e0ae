"""A worker's end of the talk with its supervisor (`supervisor.py` tells the messages)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import policy
from sandbox.local.supervisor import MESSAGE_BYTES
from sandbox.protocol import Limits, PoolCount, SandboxUnavailable

_EXIT_SECONDS = 10.0


class SupervisorLost(SandboxUnavailable):
    """The supervisor has ended, and all its rooms with it."""


class RoomLost(SandboxUnavailable):
    """The room's nursery has ended, and all rooms of its generation with it."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """How a room ended. `lost`: with its nursery, by no fault of its run. The counts are those of
    its control group, 0 where it had none.
    """

    lost: bool
    oom_kills: int
    refused_forks: int


class Link:
    """One supervisor, started by `open` and ended by `close`, or by this process's own end.

    `cpus` is the processor time of each room, where there are control groups; None: all there is.
    """

    def __init__(self, cpus: float | None = None) -> None:
        self._cpus = cpus
        self._loop = asyncio.get_running_loop()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = _start(theirs.fileno())
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._receive)
        self._numbers = itertools.count(1)
        self._opened: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._taken: dict[int, asyncio.Future[socket.socket]] = {}
        self._dropped: dict[int, asyncio.Future[Dropped]] = {}
        self._dropping: set[asyncio.Task[Dropped]] = set()
        self._warm: asyncio.Future[None] | None = None
        self.lost = False
        self.pool = PoolCount()

    async def open(
        self,
        python: Path,
        bwrap: Path | None,
        uid: int,
        generation: int,
        private: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Begin, where no room sees a `private` path; returns the supervisor's facts: `bubblewrap`,
        `uid`, `python` (in the room), `cgroup` (what it bounds) or else `no_cgroup` (why).
        """
        program = None if bwrap is None else str(bwrap)
        begin = {"python": str(python), "bwrap": program, "uid": uid, "generation": generation}
        await self._send({"do": "open", **begin, "private": list(private)})
        return await self._opened

    async def take(
        self, limits: Limits, seconds: float, *, libraries: bool = False
    ) -> tuple[int, socket.socket]:
        """A fresh room and its agent's socket, if possible with the usual `libraries` loaded; it is
        destroyed after `seconds` at the latest.
        """
        number = next(self._numbers)
        future = self._taken[number] = self._loop.create_future()
        wish = {
            "number": number,
            "size": policy.work_bytes(limits),
            "seconds": seconds,
            "memory": policy.group_bytes(limits),
            "processes": policy.group_processes(limits),
            "cpus": self._cpus,
            "libraries": libraries,
        }
        try:
            await self._send({"do": "take", **wish})
            return number, await future
        except asyncio.CancelledError:
            self._taken.pop(number, None)
            if future.done() and not future.cancelled() and future.exception() is None:
                future.result().close()
            await self.drop(number)
            raise

    async def drop(self, number: int) -> Dropped:
        """Destroy the run's room; returns when nothing of it is left, also when cancelled."""
        return await asyncio.shield(self.drop_soon(number))

    def drop_soon(self, number: int) -> asyncio.Task[Dropped]:
        """Destroy the run's room without waiting for it; `close` waits, as it does for all."""
        task = self._loop.create_task(self._drop(number))
        self._dropping.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Dropped]) -> None:
        """Let go of a task; its outcome is looked at, so that no lost supervisor goes to a log."""
        self._dropping.discard(task)
        if not task.cancelled():
            task.exception()

    async def _drop(self, number: int) -> Dropped:
        future: asyncio.Future[Dropped] = self._loop.create_future()
        self._dropped[number] = future
        await self._send({"do": "drop", "number": number})
        return await future

    async def keep(self, rooms: int, size: int) -> None:
        """Keep that many rooms of that size ready."""
        await self._send({"do": "keep", "rooms": rooms, "size": size})

    async def warmed(self) -> None:
        """Returns when as many rooms stand ready in each line as are kept."""
        if self._warm is None:
            self._warm = self._loop.create_future()
            await self._send({"do": "warm"})
        await asyncio.shield(self._warm)

    async def close(self) -> None:
        """End the supervisor and with it every room; returns when it has ended.

        Whoever waits for a room or its end gets SupervisorLost.
        """
        self._lose()
        await asyncio.to_thread(_reap, self._process)

    async def _send(self, message: dict[str, Any], *fds: int) -> None:
        data = json.dumps(message).encode()
        while not self.lost:
            try:
                socket.send_fds(self._socket, [data], fds)
            except BlockingIOError:
                await asyncio.sleep(0.001)
            except OSError:
                self._lose()
            else:
                return
        raise SupervisorLost("the sandbox's supervisor has ended")

    def _receive(self) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(self._socket, MESSAGE_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        if not data:
            self._lose()
            return
        message = json.loads(data)
        if "room" in message:
            self._arrived(message["room"], socket.socket(fileno=fds[0]))
        elif "failed" in message:
            self._settle(self._taken, message["failed"], SandboxUnavailable(message["why"]))
        elif "gone" in message:
            self._ended(**message)
        elif "warm" in message:
            self._warmed()
        elif "pool" in message:
            self.pool = PoolCount(**message["pool"])
        elif "open" in message:
            self._opened.set_result(message["open"])
        else:
            self._opened.set_exception(SandboxUnavailable(message["unavailable"]))

    def _arrived(self, number: int, room: socket.socket) -> None:
        future = self._taken.pop(number, None)
        if future is None or future.done():
            room.close()
        else:
            room.setblocking(False)
            future.set_result(room)

    def _ended(self, gone: int, lost: bool, oom_kills: int, refused_forks: int) -> None:
        future = self._dropped.pop(gone)
        if not future.done():
            future.set_result(Dropped(lost, oom_kills, refused_forks))

    def _warmed(self) -> None:
        future, self._warm = self._warm, None
        if future is not None and not future.done():
            future.set_result(None)

    def _lose(self) -> None:
        """The supervisor is gone, or is not wanted any more: whoever waits for it learns so."""
        if self.lost:
            return
        self.lost = True
        self._loop.remove_reader(self._socket)
        self._socket.close()
        reason = SupervisorLost("the sandbox's supervisor has ended")
        for number in tuple(self._taken):
            self._settle(self._taken, number, reason)
        for number in tuple(self._dropped):
            self._settle(self._dropped, number, reason)
        for each in (self._opened, self._warm):
            if each is not None and not each.done():
                each.set_exception(reason)

    def _settle(
        self, futures: dict[int, asyncio.Future[Any]], number: int, reason: Exception
    ) -> None:
        future = futures.pop(number, None)
        if future is not None and not future.done():
            future.set_exception(reason)


def _start(descriptor: int) -> subprocess.Popen[bytes]:
    """Start a supervisor with an empty environment, out of the terminal's reach."""
    return subprocess.Popen(
        [sys.executable, "-m", "sandbox.local", str(descriptor)],
        env={},
        cwd=Path(__file__).resolve().parent.parent.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        start_new_session=True,
    )


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a supervisor whose socket is closed; one that hangs is killed.

    A supervisor that was killed itself may leave rooms that had not begun (see `orphans`): they
    are still of its process group. That is killed before the supervisor is reaped: until then its
    number is nobody else's.
    """
    ended = os.pidfd_open(process.pid)
    end = select.poll()
    end.register(ended, select.POLLIN)
    try:
        if not end.poll(1000 * _EXIT_SECONDS):
            process.kill()
            end.poll()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    finally:
        os.close(ended)
    process.wait()
