"""A worker's end of the conversation with its supervisor (`supervisor.py` has the messages)."""

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox import policy
from sandbox.local.layer_sizes import Size, size_of
from sandbox.local.supervisor import MESSAGE_BYTES
from sandbox.order import Order, order
from sandbox.pool import SandboxLost, to_its_end
from sandbox.protocol import PROXY_PORT, Command, Limits, RunResult, SandboxUnavailable
from sandbox.result import ExitReport
from sandbox.zygote.preload import INSTALLED

LOADING_SECONDS = 15.0
"""Runs wait so long at most for libraries that are being loaded; it takes about 2 s."""
_EXIT_SECONDS = 10.0
CONNECTIONS = 64
"""To one run's proxy at a time. Others wait in the sandbox, in its memory."""
_BUFFER_BYTES = 1024 * 1024
_LIBRARIES = tuple(name.partition(".")[0].encode() for name in INSTALLED)
_LOST = "the sandbox's supervisor has ended"


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


@dataclass(eq=False, slots=True)
class _Entry:
    """What is waited for of one number: its socket, with that of its proxy, its start, its end."""

    libraries: bool = False
    copied_bytes: int = 0
    made: asyncio.Future[list[socket.socket]] = field(default_factory=_future)
    started: asyncio.Future[None] = field(default_factory=_future)
    ended: asyncio.Future[ExitReport] = field(default_factory=_future)


class LocalSession:
    """One supervisor, started by `open` and ended by `close`, or by this process's own end.
    Implements `pool.Session`.

    `cpus` is the processor time of each sandbox, where there are control groups; None: all there
    is. `own_interpreter` gives each run an interpreter of its own.
    """

    def __init__(self, cpus: float | None, *, own_interpreter: bool) -> None:
        self._cpus, self._own_interpreter = cpus, own_interpreter
        self._loop = asyncio.get_running_loop()
        self._socket, supervisor_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with supervisor_end:
            self._process = _start(supervisor_end.fileno())
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._receive)
        self._numbers = itertools.count(1)
        self._opened: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._entries: dict[int, _Entry] = {}
        self._warm: asyncio.Future[None] = self._loop.create_future()
        self._loading_ends = 0.0  # by the loop's clock; 0: nobody has asked for libraries
        self._layers: Path | None = None
        self._sizes: dict[tuple[str, ...], Size] = {}
        self.facts: dict[str, Any] = {}
        self.lost = False
        self.copies = False
        """Whether a sandbox begins with a copy of its layers, not with an overlay of them."""

    @property
    def pid(self) -> int:
        """The supervisor's."""
        return self._process.pid

    async def open(
        self,
        python: Path,
        bwrap: Path | None,
        uid: int,
        rotation: int,
        private: Sequence[str] = (),
        programs: Sequence[str] = (),
        layers: Path | None = None,
    ) -> None:
        """Begin, where no sandbox sees a `private` path, and each finds these `programs` beside
        those of `sandbox.programs`, and its layers below the directory `layers`. From then on
        there are `facts`: `bubblewrap`, `uid`, `python` (in the sandbox), `cgroup` (what it bounds)
        or else `no_cgroup` (why), `no_layers` (why none can be had, or empty). Raises
        SandboxUnavailable.
        """
        program = None if bwrap is None else str(bwrap)
        begin = {"python": str(python), "bwrap": program, "uid": uid, "rotation": rotation}
        lists = {"private": list(private), "programs": list(programs)}
        self._layers, at = layers, None if layers is None else str(layers)
        await self.send({"do": "open", **begin, **lists, "layers": at})
        self.facts = await self._opened

    def order(self, command: Command, limits: Limits) -> Order:
        """See `pool.Session.order`. A control group always limits memory (`cgroups.detection`)."""
        return order(
            command,
            limits,
            self.facts["python"],
            grouped=("RLIMIT_AS",) if self.facts["cgroup"] else (),
            own_interpreter=self._own_interpreter,
            base_files=self._sizes.get(command.layers, Size()).files,
        )

    async def make(
        self,
        limits: Limits,
        *,
        load: bool,  # noqa: ARG002
        layers: tuple[str, ...] = (),
        proxy: bool = False,
    ) -> LocalInstance:
        """See `pool.Session.make`; what has libraries loaded is the supervisor's choice."""
        if self.lost:
            raise SandboxLost(_LOST)
        copies = bool(layers) and self.copies
        copied = await self._copied(layers) if copies else Size()
        number, entry = next(self._numbers), _Entry(copied_bytes=copied.bytes)
        self._entries[number] = entry
        size = _work_size(limits, copied)
        try:
            port = PROXY_PORT if proxy else 0
            wanted = {"number": number, **size, "layers": layers, "copies": copies}
            await self.send({"do": "make", **wanted, "proxy_port": port})
            made, *listening = await entry.made
            streams = await asyncio.open_unix_connection(sock=made, limit=_BUFFER_BYTES)
        except BaseException:
            _close_made(entry)
            await to_its_end(asyncio.create_task(self.end(number)))
            raise
        return LocalInstance(self, number, entry, size, listening, *streams)

    async def _copied(self, layers: tuple[str, ...]) -> Size:
        """What a copy of these layers takes."""
        if self._layers is not None and layers not in self._sizes:
            self._sizes[layers] = await asyncio.to_thread(size_of, self._layers, layers)
        return self._sizes[layers]

    def notice(self, error: SandboxUnavailable) -> None:
        """See `pool.Session.notice`: its socket says it earlier."""

    @property
    def warmed(self) -> bool:
        """Whether sandboxes were made with libraries loaded at some time."""
        return self._warm.done() and self._warm.exception() is None

    async def prepare(self, command: Command) -> None:
        """See `pool.Session.prepare`. The first run that names a library has it loaded and waits:
        many that import it themselves would take a busy machine's processors from the loading.
        """
        if self.warmed or self._own_interpreter or not _names_a_library(command):
            return
        await self._load()
        left = self._loading_ends - self._loop.time()
        await asyncio.wait({self._warm}, timeout=max(left, 0.0))

    async def warm(self) -> None:
        """See `pool.Session.warm`."""
        await self._load()
        await asyncio.shield(self._warm)

    async def _load(self) -> None:
        if not self._loading_ends:
            self._loading_ends = self._loop.time() + LOADING_SECONDS
            await self.send({"do": "warm"})

    async def start(self, number: int, limits: Limits) -> None:
        """Bound the sandbox for its run. Raises SandboxLost, SandboxUnavailable."""
        entry = self._entries.get(number)
        if entry is None:
            raise SandboxLost("a sandbox ended before its run began")
        bounds = {
            "seconds": limits.wall_seconds + policy.GRACE_SECONDS,
            "memory": policy.group_bytes(limits) + entry.copied_bytes,
            "processes": policy.group_processes(limits),
            "cpus": self._cpus,
        }
        await self.send({"do": "start", "number": number, **bounds})
        await entry.started

    async def end(self, number: int) -> None:
        """Destroy a sandbox, or its making; returns when nothing of it is left."""
        entry = self._entries.get(number)
        if entry is not None:
            with contextlib.suppress(SandboxLost):
                await self.send({"do": "end", "number": number})
            await asyncio.wait({entry.ended})

    async def stop(self) -> None:
        """See `pool.Session.stop`. With the supervisor all sandboxes end."""
        self._lose()

    async def close(self) -> None:
        """End the supervisor and with it every sandbox; returns when it has ended."""
        self._lose()
        await asyncio.to_thread(_reap, self._process)

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message. Raises SandboxLost."""
        data = json.dumps(message).encode()
        while not self.lost:
            try:
                self._socket.send(data)
            except BlockingIOError:
                await asyncio.sleep(0.001)
            except OSError:
                self._lose()
            else:
                return
        raise SandboxLost(_LOST)

    def _receive(self) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(self._socket, MESSAGE_BYTES, 2)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        if not data:
            self._lose()
            return
        match json.loads(data):
            case {"made": number, "libraries": libraries}:
                made = [socket.socket(fileno=fd) for fd in fds]
                self._arrived(self._entries.get(number), made, libraries=libraries)
            case {"warm": _}:
                _settle(self._warm, None)
            case {"cold": why}:  # nobody waits any more: runs import what they need
                _settle(self._warm, SandboxUnavailable(f"libraries could not be loaded: {why}"))
            case {"open": facts}:
                _settle(self._opened, facts)
            case {"unavailable": why}:
                _settle(self._opened, SandboxUnavailable(why))
            case message:
                self._noticed(message)

    def _noticed(self, message: dict[str, Any]) -> None:
        """What has become of one number, which may not be waited for any more."""
        match message:
            case {"started": number} if number in self._entries:
                _settle(self._entries[number].started, None)
            case {"failed": number, "why": why, "lost": lost} if number in self._entries:
                self._failed(number, SandboxLost(why) if lost else SandboxUnavailable(why))
            case {"ended": number, "report": report} if number in self._entries:
                self._ended(number, ExitReport(**report))

    def _arrived(self, entry: _Entry | None, made: list[socket.socket], *, libraries: bool) -> None:
        if entry is None or entry.made.done():
            for each in made:
                each.close()
        else:
            for each in made:
                each.setblocking(False)
            entry.libraries = libraries
            entry.made.set_result(made)

    def _failed(self, number: int, reason: SandboxUnavailable) -> None:
        """It could not be made, and is gone or about to go; or it could not be started."""
        entry = self._entries[number]
        if entry.made.done():
            _settle(entry.started, reason)
        else:
            _settle(entry.made, reason)
            self._ended(number, ExitReport())

    def _ended(self, number: int, report: ExitReport) -> None:
        entry = self._entries.pop(number)
        _settle(entry.ended, report)
        reason = SandboxLost(report.why or "a sandbox ended before its run began")
        for waiting in (entry.made, entry.started):
            _settle(waiting, reason)

    def _lose(self) -> None:
        """The supervisor is gone, or is not wanted any more: who waits for it learns so."""
        if self.lost:
            return
        self.lost = True
        self._loop.remove_reader(self._socket)
        self._socket.close()
        for number in tuple(self._entries):
            self._ended(number, ExitReport(lost=True, why=_LOST))
        for waiting in (self._opened, self._warm):
            _settle(waiting, SandboxLost(_LOST))


class LocalInstance:
    """A sandbox of this machine; implements `pool.Instance`."""

    def __init__(
        self,
        session: LocalSession,
        number: int,
        entry: _Entry,
        work_size: dict[str, int],
        listening: list[socket.socket],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._session, self._number, self._entry = session, number, entry
        self._work_size, self.reader, self.writer = work_size, reader, writer
        self._listening = listening

    def fits(self, limits: Limits) -> bool:
        """See `pool.Instance.fits`: all but `/work` is bounded when a run begins."""
        return self._work_size == _work_size(limits, Size())

    @property
    def lost(self) -> bool:
        """See `pool.Instance.lost`; of no more use, too, where others have libraries loaded."""
        is_outdated = self._session.warmed and not self._entry.libraries
        return self._entry.ended.done() or is_outdated

    async def start(self, limits: Limits) -> None:
        """See `pool.Instance.start`."""
        await self._session.start(self._number, limits)

    acceptors, connections = 1, CONNECTIONS

    async def accept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """See `pool.Instance.accept`."""
        connection, _ = await asyncio.get_running_loop().sock_accept(self._listening[0])
        try:
            return await asyncio.open_connection(sock=connection)
        except BaseException:
            connection.close()
            raise

    async def report(self, result: RunResult | None, *, cut: bool) -> ExitReport:  # noqa: ARG002
        """See `pool.Instance.report`: its control group says it when it has ended."""
        await self.end()
        return self._entry.ended.result()

    async def end(self) -> None:
        """See `pool.Instance.end`."""
        try:
            await self._session.end(self._number)
        finally:
            self.writer.close()
            for each in self._listening:
                each.close()


def _work_size(limits: Limits, copied: Size) -> dict[str, int]:
    return {
        "bytes": policy.work_bytes(limits) + copied.bytes,
        "inodes": policy.work_inodes(limits) + copied.files,
    }


def _names_a_library(command: Command) -> bool:
    """Whether a run may use a library that can be loaded beforehand. A wrong guess costs time."""
    code = (word.encode(errors="replace") for word in command.argv)
    files = (data for path, data in command.files.items() if path.endswith(".py"))
    return any(name in data for data in (*code, *files) for name in _LIBRARIES)


def _settle(future: asyncio.Future[Any], value: object) -> None:
    """Set a result or an exception, which nobody needs to wait for, where there is none yet."""
    if future.done():
        return
    if isinstance(value, Exception):
        future.set_exception(value)
        future.exception()
    else:
        future.set_result(value)


def _close_made(entry: _Entry) -> None:
    """Close the socket of a sandbox that nobody wants any more."""
    made = entry.made
    if made.done() and not made.cancelled() and made.exception() is None:
        for each in made.result():
            each.close()
    else:
        made.cancel()


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

    A supervisor that was killed itself may leave sandboxes that had not begun (see `orphans`): they
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
