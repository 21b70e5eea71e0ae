"""The worker's side of its supervisor (`supervisor.py` documents the messages)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox import policy
from sandbox.local.supervisor import MESSAGE_BYTES
from sandbox.local.supervisor_process import reap_supervisor, start_supervisor
from sandbox.order import EncodedOrder, encode_order
from sandbox.pool import SandboxLost, wait_until_done
from sandbox.protocol import PROXY_PORT, Command, Limits, RunResult, SandboxUnavailable
from sandbox.result import ExitReport
from sandbox.trees import TreeSize, measure_trees
from sandbox.zygote.preload import INSTALLED

LOADING_SECONDS = 15.0
"""How long a run waits at most for libraries that are being loaded; it takes about 2 s."""
MAX_CONNECTIONS = 64
"""The most connections to the proxy of one run at a time. Further connections wait in the sandbox,
in its memory."""
_BUFFER_BYTES = 1024 * 1024
_LIBRARIES = tuple(name.partition(".")[0].encode() for name in INSTALLED)
_SUPERVISOR_ENDED = "the sandbox's supervisor has ended"


def _new_future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


@dataclass(eq=False, slots=True)
class _SandboxState:
    """The state of one sandbox in the worker, by messages of the supervisor."""

    has_libraries: bool = False
    copied_bytes: int = 0
    """The size of the copy of its trees."""
    sockets: asyncio.Future[list[socket.socket]] = field(default_factory=_new_future)
    """Its agent's socket, and the listening socket of its proxy."""
    started: asyncio.Future[None] = field(default_factory=_new_future)
    report: asyncio.Future[ExitReport] = field(default_factory=_new_future)


class LocalSession:
    """One supervisor. It is started with this object, and ends with `close` or with this process.
    `open` configures it. Implements `pool.BackendSession`.
    """

    def __init__(self, cpus: float | None, *, own_interpreter: bool) -> None:
        """`cpus`: the processors of each sandbox, if there are control groups; None: all.
        `own_interpreter`: start a new interpreter for each run.
        """
        self._cpus, self._own_interpreter = cpus, own_interpreter
        self._loop = asyncio.get_running_loop()
        self._socket, supervisor_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with supervisor_end:
            self._process = start_supervisor(supervisor_end.fileno())
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._receive)
        self._numbers = itertools.count(1)
        self._opened: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._states: dict[int, _SandboxState] = {}
        self._warm: asyncio.Future[None] = self._loop.create_future()
        self._loading_deadline = 0.0
        """By the loop's clock; 0: no run has asked for libraries."""
        self._trees_directory: Path | None = None
        self._tree_sizes: dict[tuple[str, ...], TreeSize] = {}
        self.facts: dict[str, Any] = {}
        self.lost = False
        self.copies_trees = False
        """Whether a sandbox begins with a copy of its trees, not with an overlay."""

    @property
    def pid(self) -> int:
        """The supervisor's pid."""
        return self._process.pid

    async def open(
        self,
        python: Path,
        bwrap: Path | None,
        uid: int,
        rotation: int,
        private: Sequence[str] = (),
        programs: Sequence[str] = (),
        trees_directory: Path | None = None,
    ) -> None:
        """Start to serve; `LocalSandbox` documents the arguments. Sets `facts`: `bubblewrap`,
        `uid`, `python` (in the sandbox), `cgroup` (the limited resources) or `no_cgroup` (the
        reason), and `no_trees` (the reason why the directory of trees cannot be used, or empty).
        Raises SandboxUnavailable.
        """
        self._trees_directory = trees_directory
        await self._send(
            {
                "do": "open",
                "python": str(python),
                "bwrap": None if bwrap is None else str(bwrap),
                "uid": uid,
                "rotation": rotation,
                "private": list(private),
                "programs": list(programs),
                "trees_directory": None if trees_directory is None else str(trees_directory),
            }
        )
        self.facts = await self._opened

    def encode_order(self, command: Command, limits: Limits) -> EncodedOrder:
        """See `pool.BackendSession.encode_order`. If there is a control group, it always limits
        memory (`cgroups.detection`)."""
        return encode_order(
            command,
            limits,
            self.facts["python"],
            omitted_rlimits=("RLIMIT_AS",) if self.facts["cgroup"] else (),
            own_interpreter=self._own_interpreter,
            base_files=self._tree_sizes.get(command.trees, TreeSize()).files,
        )

    async def make(
        self,
        limits: Limits,
        *,
        load: bool,  # noqa: ARG002
        trees: tuple[str, ...] = (),
        proxy: bool = False,
    ) -> LocalInstance:
        """See `pool.BackendSession.make`. The supervisor decides which sandboxes have libraries."""
        if self.lost:
            raise SandboxLost(_SUPERVISOR_ENDED)
        copies_trees = bool(trees) and self.copies_trees
        copy_size = await self._measure(trees) if copies_trees else TreeSize()
        number, state = next(self._numbers), _SandboxState(copied_bytes=copy_size.bytes)
        self._states[number] = state
        work_size = _work_size(limits, copy_size)
        request = {
            "do": "make",
            "number": number,
            **work_size,
            "trees": trees,
            "copies_trees": copies_trees,
            "proxy_port": PROXY_PORT if proxy else 0,
        }
        try:
            await self._send(request)
            agent_socket, *proxy_sockets = await state.sockets
            streams = await asyncio.open_unix_connection(sock=agent_socket, limit=_BUFFER_BYTES)
        except BaseException:
            _close_unused_sockets(state)
            await wait_until_done(asyncio.create_task(self.end(number)))
            raise
        return LocalInstance(self, number, state, work_size, proxy_sockets, *streams)

    async def _measure(self, trees: tuple[str, ...]) -> TreeSize:
        """The space that a copy of these trees takes."""
        if self._trees_directory is not None and trees not in self._tree_sizes:
            size = await asyncio.to_thread(measure_trees, self._trees_directory, trees)
            self._tree_sizes[trees] = size
        return self._tree_sizes[trees]

    def handle_error(self, error: SandboxUnavailable) -> None:
        """See `pool.BackendSession.handle_error`: the supervisor's socket reports its end first."""

    @property
    def is_warm(self) -> bool:
        """Whether new sandboxes have libraries loaded."""
        return self._warm.done() and self._warm.exception() is None

    async def prepare(self, command: Command) -> None:
        """See `pool.BackendSession.prepare`. The first run that names a library starts to load the
        libraries, and runs that name one wait for them. If many runs imported a library themselves,
        they would take a busy machine's processors from the loading.
        """
        if self.is_warm or self._own_interpreter or not _names_library(command):
            return
        await self._load_libraries()
        remaining_seconds = self._loading_deadline - self._loop.time()
        await asyncio.wait({self._warm}, timeout=max(remaining_seconds, 0.0))

    async def warm(self) -> None:
        """See `pool.BackendSession.warm`."""
        await self._load_libraries()
        await asyncio.shield(self._warm)

    async def _load_libraries(self) -> None:
        if not self._loading_deadline:
            self._loading_deadline = self._loop.time() + LOADING_SECONDS
            await self._send({"do": "warm"})

    async def start(self, number: int, limits: Limits) -> None:
        """Set the limits of the sandbox for its run. Raises SandboxLost, SandboxUnavailable."""
        state = self._states.get(number)
        if state is None:
            raise SandboxLost("a sandbox ended before its run began")
        await self._send(
            {
                "do": "start",
                "number": number,
                "seconds": limits.wall_seconds + policy.GRACE_SECONDS,
                "memory": policy.cgroup_bytes(limits) + state.copied_bytes,
                "processes": policy.cgroup_processes(limits),
                "cpus": self._cpus,
            }
        )
        await state.started

    async def end(self, number: int) -> None:
        """Destroy a sandbox, or cancel its request; waits until all of its processes have ended."""
        state = self._states.get(number)
        if state is not None:
            with contextlib.suppress(SandboxLost):
                await self._send({"do": "end", "number": number})
            await asyncio.wait({state.report})

    async def stop(self) -> None:
        """See `pool.BackendSession.stop`. All sandboxes end with the supervisor."""
        self._mark_lost()

    async def close(self) -> None:
        """End the supervisor and every sandbox; returns after the supervisor has ended."""
        self._mark_lost()
        await asyncio.to_thread(reap_supervisor, self._process)

    async def _send(self, message: dict[str, Any]) -> None:
        """Send a message. Raises SandboxLost."""
        data = json.dumps(message).encode()
        while not self.lost:
            try:
                self._socket.send(data)
            except BlockingIOError:
                await asyncio.sleep(0.001)
            except OSError:
                self._mark_lost()
            else:
                return
        raise SandboxLost(_SUPERVISOR_ENDED)

    def _receive(self) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(self._socket, MESSAGE_BYTES, 2)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        if not data:
            self._mark_lost()
            return
        match json.loads(data):
            case {"made": number, "libraries": libraries}:
                sockets = [socket.socket(fileno=fd) for fd in fds]
                self._on_made(self._states.get(number), sockets, has_libraries=libraries)
            case {"warm": _}:
                _set_once(self._warm, None)
            case {"cold": reason}:  # runs no longer wait: they import the libraries themselves
                _set_once(
                    self._warm, SandboxUnavailable(f"libraries could not be loaded: {reason}")
                )
            case {"open": facts}:
                _set_once(self._opened, facts)
            case {"unavailable": reason}:
                _set_once(self._opened, SandboxUnavailable(reason))
            case message:
                self._on_sandbox_message(message)

    def _on_sandbox_message(self, message: dict[str, Any]) -> None:
        """Handle a message about one sandbox, which may be unknown by now."""
        match message:
            case {"started": number} if number in self._states:
                _set_once(self._states[number].started, None)
            case {"failed": number, "reason": reason, "lost": lost} if number in self._states:
                self._on_failed(number, SandboxLost(reason) if lost else SandboxUnavailable(reason))
            case {"ended": number, "report": report} if number in self._states:
                self._on_ended(number, ExitReport(**report))

    def _on_made(
        self, state: _SandboxState | None, sockets: list[socket.socket], *, has_libraries: bool
    ) -> None:
        if state is None or state.sockets.done():
            for unused in sockets:
                unused.close()
        else:
            for received in sockets:
                received.setblocking(False)
            state.has_libraries = has_libraries
            state.sockets.set_result(sockets)

    def _on_failed(self, number: int, error: SandboxUnavailable) -> None:
        """A sandbox could not be made, and has ended or will end; or it could not be started."""
        state = self._states[number]
        if state.sockets.done():
            _set_once(state.started, error)
        else:
            _set_once(state.sockets, error)
            self._on_ended(number, ExitReport())

    def _on_ended(self, number: int, report: ExitReport) -> None:
        state = self._states.pop(number)
        _set_once(state.report, report)
        error = SandboxLost(report.reason or "a sandbox ended before its run began")
        for future in (state.sockets, state.started):
            _set_once(future, error)

    def _mark_lost(self) -> None:
        """The supervisor has ended, or is no longer needed: report that to all waiting tasks."""
        if self.lost:
            return
        self.lost = True
        self._loop.remove_reader(self._socket)
        self._socket.close()
        for number in tuple(self._states):
            self._on_ended(number, ExitReport(lost=True, reason=_SUPERVISOR_ENDED))
        for future in (self._opened, self._warm):
            _set_once(future, SandboxLost(_SUPERVISOR_ENDED))


class LocalInstance:
    """A sandbox of this machine; implements `pool.Instance`."""

    def __init__(
        self,
        session: LocalSession,
        number: int,
        state: _SandboxState,
        work_size: dict[str, int],
        proxy_sockets: list[socket.socket],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._session, self._number, self._state = session, number, state
        self._work_size, self.reader, self.writer = work_size, reader, writer
        self._proxy_sockets = proxy_sockets

    def fits(self, limits: Limits) -> bool:
        """See `pool.Instance.fits`: only the size of `/work` is fixed before a run starts."""
        return self._work_size == _work_size(limits, TreeSize())

    @property
    def lost(self) -> bool:
        """See `pool.Instance.lost`. Also true without libraries if new sandboxes have them."""
        is_outdated = self._session.is_warm and not self._state.has_libraries
        return self._state.report.done() or is_outdated

    async def start(self, limits: Limits) -> None:
        """See `pool.Instance.start`."""
        await self._session.start(self._number, limits)

    max_acceptors, max_connections = 1, MAX_CONNECTIONS

    async def accept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """See `pool.Instance.accept`."""
        connection, _ = await asyncio.get_running_loop().sock_accept(self._proxy_sockets[0])
        try:
            return await asyncio.open_connection(sock=connection)
        except BaseException:
            connection.close()
            raise

    async def report(self, result: RunResult | None, *, was_cut: bool) -> ExitReport:  # noqa: ARG002
        """See `pool.Instance.report`. The control group's counters are complete after the end."""
        await self.end()
        return self._state.report.result()

    async def end(self) -> None:
        """See `pool.Instance.end`."""
        try:
            await self._session.end(self._number)
        finally:
            self.writer.close()
            for proxy_socket in self._proxy_sockets:
                proxy_socket.close()


def _work_size(limits: Limits, copy_size: TreeSize) -> dict[str, int]:
    return {
        "bytes": policy.work_bytes(limits) + copy_size.bytes,
        "inodes": policy.work_inodes(limits) + copy_size.files,
    }


def _names_library(command: Command) -> bool:
    """Whether a run may use a library that can be preloaded. A wrong answer only costs time."""
    code = (word.encode(errors="replace") for word in command.argv)
    files = (data for path, data in command.files.items() if path.endswith(".py"))
    return any(name in data for data in (*code, *files) for name in _LIBRARIES)


def _set_once(future: asyncio.Future[Any], value: object) -> None:
    """Set the result or exception of a future that has none. An exception counts as retrieved, so
    that no task has to wait for it.
    """
    if future.done():
        return
    if isinstance(value, Exception):
        future.set_exception(value)
        future.exception()
    else:
        future.set_result(value)


def _close_unused_sockets(state: _SandboxState) -> None:
    """Close the sockets of a sandbox that is not used any more."""
    future = state.sockets
    if future.done() and not future.cancelled() and future.exception() is None:
        for unused in future.result():
            unused.close()
    else:
        future.cancel()
