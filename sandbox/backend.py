"""The common part of the backends: opens a session, keeps its pool, and runs commands."""

from __future__ import annotations

import asyncio
import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from sandbox import policy, trees
from sandbox.isolation_layers import probe_command
from sandbox.order import EncodedOrder, require_valid
from sandbox.pool import BackendSession, Instance, Pool, SandboxLost, wait_until_done
from sandbox.protocol import (
    Command,
    End,
    IsolationLayer,
    Limits,
    OutputReceiver,
    PoolCount,
    RunResult,
    SandboxUnavailable,
)
from sandbox.proxy import answer_connections
from sandbox.result import (
    HEADER_BYTES,
    ForgedAnswer,
    build_result,
    explain_failure,
    parse_header,
    parse_live_header,
    result_without_answer,
)

S = TypeVar("S", bound=BackendSession)


class PooledSandbox(ABC, Generic[S]):
    """Runs each command in a new sandbox; implements `protocol.Sandbox`.

    The first run opens the session, and so does the first run after the session was lost. One
    instance belongs to one event loop; create it after a fork, not before.
    """

    def __init__(self, pool_size: int, limits: Limits, trees_directory: Path | None) -> None:
        self._pool_size, self._limits, self._trees_directory = pool_size, limits, trees_directory
        self._trees_fault = ""
        """Why runs of this session cannot begin with trees; empty if they can."""
        self._session: S | None = None
        self._pool: Pool | None = None
        self._open_task: asyncio.Task[tuple[S, Pool]] | None = None
        self._close_task: asyncio.Task[None] | None = None

    @abstractmethod
    async def _start_session(self) -> S:
        """Start a new session. Raises SandboxUnavailable."""

    @abstractmethod
    def _isolation_layers(self, session: S, probe_output: str) -> tuple[IsolationLayer, ...]:
        """The isolation layers, from the output of `isolation_layers.probe_command`."""

    @abstractmethod
    def _describe_tree_mode(self, session: S) -> str:
        """How a run begins with the trees of its command: an overlay, or a copy."""

    @property
    def pool(self) -> PoolCount:
        """The numbers of unused sandboxes; can be called from any thread."""
        session, pool = self._session, self._pool
        return PoolCount() if session is None or pool is None or session.lost else pool.count

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See `protocol.Sandbox.run`. A run has no side effects, so if its sandbox or session is
        lost, the run is repeated once.
        """
        require_valid(command, limits)  # before any work starts
        self._require_trees(command.trees)
        try:
            return await self._run(command, limits)
        except SandboxUnavailable as error:
            if self._close_task is None:
                raise
            # While the backend is closed, any error of a run is a consequence of that.
            raise _backend_closed() from error

    def _require_trees(self, names: Iterable[str]) -> None:
        for name in names:
            if self._trees_directory is None:
                raise SandboxUnavailable("this backend is configured without a directory of trees")
            try:
                exists = (self._trees_directory / name).is_dir()
            except OSError as error:
                raise SandboxUnavailable(_unusable(self._trees_directory, error)) from error
            if not exists:
                raise SandboxUnavailable(
                    self._trees_fault or f"{self._trees_directory} has no tree {name}"
                )

    def _prepare_trees_directory(self, finish: Callable[[Path], None]) -> Path | None:
        """Make the directory of trees and its trial tree (`trees.make_trial_tree`). Returns None if
        the backend has no such directory, or if it cannot be used; runs without trees still work.
        """
        self._trees_fault = ""
        if (directory := self._trees_directory) is None:
            return None
        try:
            directory.mkdir(mode=0o755, parents=True, exist_ok=True)
            trees.make_trial_tree(directory, finish)
        except OSError as error:
            self._trees_fault = _unusable(directory, error)
            return None
        return directory

    async def check(self) -> tuple[IsolationLayer, ...]:
        """See `protocol.Sandbox.check`."""
        result = await self.run(probe_command(), self._limits)
        if not result.succeeded:
            raise SandboxUnavailable(f"a first run failed: {result.end}: {result.stderr.text}")
        session, _ = await self._open()
        layers = self._isolation_layers(session, result.stdout.text)
        if self._trees_directory is None:
            return layers
        fault = await trees.run_trial(lambda: self.run(trees.TRIAL_COMMAND, self._limits))
        return (*layers, trees.trial_layer(fault, self._describe_tree_mode(session)))

    async def wait_until_warm(self) -> None:
        """Wait until the pool is full. Raises SandboxUnavailable."""
        _, pool = await self._open()
        await pool.wait_until_warm()

    async def close(self) -> None:
        """See `protocol.Sandbox.close`."""
        if self._close_task is None:
            self._close_task = asyncio.create_task(self._close())
        await asyncio.shield(self._close_task)  # a cancelled caller does not stop it

    async def _close(self) -> None:
        if self._open_task is not None:
            self._open_task.cancel()
            await asyncio.wait({self._open_task})
        await self._close_session()

    async def _run(self, command: Command, limits: Limits) -> RunResult:
        session, pool = await self._open()
        if command.trees and self._trees_fault:
            raise SandboxUnavailable(self._trees_fault)
        try:
            await session.prepare(command)
            return await run_once(session, pool, command, limits)
        except SandboxUnavailable as error:
            is_repeatable = session.lost or isinstance(error, SandboxLost)
            if not is_repeatable or self._close_task is not None:
                raise
        session, pool = await self._open()
        return await run_once(session, pool, command, limits, fresh=True)

    async def _open(self) -> tuple[S, Pool]:
        """The session that all runs share. Runs that need a new session wait for the same task, and
        get the same error if it fails.
        """
        if self._close_task is not None:
            raise _backend_closed()
        if self._open_task is None or _must_open_again(self._open_task):
            self._open_task = asyncio.create_task(self._open_session())
            # Retrieves an exception even if no run waits for the task any more.
            self._open_task.add_done_callback(_must_open_again)
        task = self._open_task
        await asyncio.wait({task})
        if task.cancelled():  # by `close`
            raise _backend_closed()
        return task.result()

    async def _open_session(self) -> tuple[S, Pool]:
        await self._close_session()
        self._session = await self._start_session()
        self._pool = Pool(self._session, self._limits)
        try:
            await self._try_session(self._session, self._pool)
        except BaseException:
            await wait_until_done(asyncio.create_task(self._close_session()))
            raise
        self._pool.keep(self._pool_size)
        return self._session, self._pool

    async def _try_session(self, session: S, pool: Pool) -> None:
        """Test a new session. Raises SandboxUnavailable if it cannot be used."""

    async def _close_session(self) -> None:
        session, pool = self._session, self._pool
        if session is None:
            return
        await session.stop()
        if pool is not None:
            await pool.close()
        await session.close()
        self._session = self._pool = None


async def run_once(
    session: BackendSession, pool: Pool, command: Command, limits: Limits, *, fresh: bool = False
) -> RunResult:
    """Run a command in one sandbox. Raises SandboxLost, SandboxUnavailable."""
    try:
        return await _run_in_instance(session, pool, command, limits, fresh=fresh)
    except SandboxUnavailable as error:
        session.handle_error(error)
        raise


async def _run_in_instance(
    session: BackendSession, pool: Pool, command: Command, limits: Limits, *, fresh: bool
) -> RunResult:
    has_proxy = command.proxy is not None
    instance = await pool.take(limits, fresh=fresh, trees=command.trees, proxy=has_proxy)
    result: RunResult | None = None
    was_cut = False
    started_at = time.monotonic()
    try:
        try:
            async with asyncio.timeout(limits.wall_seconds + policy.GRACE_SECONDS) as deadline:
                async with answer_connections(instance, command.proxy):
                    result = await _exchange(session, instance, command, limits)
        except (EOFError, OSError, ForgedAnswer) as error:
            was_cut = not deadline.expired() and not isinstance(error, ForgedAnswer)
        if result is not None and result.succeeded:
            return result
        elapsed = time.monotonic() - started_at
        report = await instance.report(result, was_cut=was_cut)
        if result is None and report.lost:
            raise SandboxLost(report.reason)
        # If an agent is silent or sends a forged answer, its code is the cause.
        end = End.TIMEOUT if elapsed >= limits.wall_seconds else End.KILLED
        return explain_failure(result or result_without_answer(end, elapsed), report)
    finally:
        end_task = pool.discard(instance)
        if result is None:
            await wait_until_done(end_task)


async def _exchange(
    session: BackendSession, instance: Instance, command: Command, limits: Limits
) -> RunResult:
    """Send the order and read the answer. The answer is untrusted: each part of it is checked."""
    # Not the loop's clock: uvloop's counts whole milliseconds, so a run would seem to take longer
    # than its sandbox existed, which counts as forged.
    started_at = time.monotonic()
    await _send(instance.writer, session.encode_order(command, limits))
    text = await _receive_header(instance)
    if command.live_output is not None:
        text = await _pass_live_output(instance, text, command.live_output, started_at)
    header = parse_header(text, command, limits, time.monotonic() - started_at)
    blobs = [await instance.reader.readexactly(size) for size in header.sizes]
    return build_result(header, blobs)


async def _receive_header(instance: Instance) -> bytes:
    size = int.from_bytes(await instance.reader.readexactly(4), "big")
    if size > HEADER_BYTES:
        raise ForgedAnswer(f"a header of {size} bytes")
    return await instance.reader.readexactly(size)


async def _pass_live_output(
    instance: Instance, text: bytes, receive: OutputReceiver, started_at: float
) -> bytes:
    """Pass the output that arrives during the run. `text` is the first header; returns the header
    of the answer."""
    for number in itertools.count(1):
        size = parse_live_header(text, number, time.monotonic() - started_at)
        if size is None:
            break
        receive(await instance.reader.readexactly(size))
        text = await _receive_header(instance)
    return text


async def _send(writer: asyncio.StreamWriter, order: EncodedOrder) -> None:
    """Send an order as a frame of `agent/wire.py`. Raises OSError if the sandbox has ended."""
    writer.write(order.framed_header)
    for blob in order.blobs:
        writer.write(blob)
        await writer.drain()
    await writer.drain()


def _unusable(directory: Path, error: OSError) -> str:
    return f"the directory of trees, {directory}, cannot be used: {error}"


def _backend_closed() -> SandboxUnavailable:
    return SandboxUnavailable("this sandbox was closed")


def _must_open_again(task: asyncio.Task[tuple[BackendSession, Pool]]) -> bool:
    """Whether a new session has to be opened: the task failed, or its session was lost."""
    if not task.done():
        return False
    return task.cancelled() or task.exception() is not None or task.result()[0].lost
