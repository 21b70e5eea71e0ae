"""What the backends have in common: a session that is opened when it is needed, its pool, a run."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from sandbox import layered_trial, policy
from sandbox.layers import probe
from sandbox.order import Order, require
from sandbox.pool import Instance, Pool, SandboxLost, Session, to_its_end
from sandbox.protocol import (
    Command,
    End,
    Layer,
    Limits,
    PoolCount,
    RunResult,
    SandboxUnavailable,
)
from sandbox.proxy import answered
from sandbox.result import (
    HEADER_BYTES,
    Forged,
    build_result,
    explain_failure,
    no_answer,
    read_header,
)

S = TypeVar("S", bound=Session)


class PooledSandbox(ABC, Generic[S]):
    """Runs each command in a sandbox of its own; implements `protocol.Sandbox`.

    The session is opened with the first run, and again after it was lost. One instance belongs to
    one event loop; make it after a fork, not before.
    """

    def __init__(self, pool_size: int, limits: Limits, layers: Path | None) -> None:
        self._pool_size, self._limits, self._layers_at = pool_size, limits, layers
        self._no_layers = ""  # why this session's runs cannot begin with any
        self._session: S | None = None
        self._pool: Pool | None = None
        self._opening: asyncio.Task[tuple[S, Pool]] | None = None
        self._closing: asyncio.Task[None] | None = None

    @abstractmethod
    async def _start(self) -> S:
        """A new session. Raises SandboxUnavailable."""

    @abstractmethod
    def _layers(self, session: S, found: str) -> tuple[Layer, ...]:
        """The layers of isolation, from what a probe has printed."""

    @abstractmethod
    def _way(self, session: S) -> str:
        """How a run begins with the layers of its command."""

    @property
    def pool(self) -> PoolCount:
        """The sandboxes that no run has; from any thread."""
        session, pool = self._session, self._pool
        return PoolCount() if session is None or pool is None or session.lost else pool.count

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See `protocol.Sandbox.run`. A run is free of effects, so one whose sandbox or session was
        lost is made once more.
        """
        require(command, limits)  # what is wrong with it is reported before anything starts
        self._require_layers(command.layers)
        try:
            return await self._run(command, limits)
        except SandboxUnavailable as error:
            if self._closing is None:
                raise
            # Whatever a run meets while this is closed comes of that.
            raise _was_closed() from error

    def _require_layers(self, names: Iterable[str]) -> None:
        for name in names:
            if self._layers_at is None:
                raise SandboxUnavailable("this backend was given no directory of layers")
            try:
                is_there = (self._layers_at / name).is_dir()
            except OSError as error:
                raise SandboxUnavailable(_of_no_use(self._layers_at, error)) from error
            if not is_there:
                raise SandboxUnavailable(
                    self._no_layers or f"{self._layers_at} has no layer {name}"
                )

    def _prepared_layers(self, finish: Callable[[Path], None]) -> Path | None:
        """The directory of layers, with that of the trial; None where there is none or it is of no
        use, which costs the runs without layers nothing. See `layered_trial.make`.
        """
        self._no_layers = ""
        if (top := self._layers_at) is None:
            return None
        try:
            top.mkdir(mode=0o755, parents=True, exist_ok=True)
            layered_trial.make(top, finish)
        except OSError as error:
            self._no_layers = _of_no_use(top, error)
            return None
        return top

    async def check(self) -> tuple[Layer, ...]:
        """See `protocol.Sandbox.check`."""
        result = await self.run(probe(), self._limits)
        if not result.succeeded:
            raise SandboxUnavailable(f"a first run failed: {result.end}: {result.stderr.text}")
        session, _ = await self._opened()
        found = self._layers(session, result.stdout.text)
        if self._layers_at is None:
            return found
        fault = await layered_trial.fault(lambda: self.run(layered_trial.COMMAND, self._limits))
        return (*found, layered_trial.report(fault, self._way(session)))

    async def warmed(self) -> None:
        """Wait until as many sandboxes as are kept stand ready. Raises SandboxUnavailable."""
        _, pool = await self._opened()
        await pool.warmed()

    async def close(self) -> None:
        """See `protocol.Sandbox.close`."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)  # who stops waiting does not stop it half-way

    async def _close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening})
        await self._leave()

    async def _run(self, command: Command, limits: Limits) -> RunResult:
        session, pool = await self._opened()
        if command.layers and self._no_layers:
            raise SandboxUnavailable(self._no_layers)
        try:
            await session.prepare(command)
            return await run_once(session, pool, command, limits)
        except SandboxUnavailable as error:
            again = session.lost or isinstance(error, SandboxLost)
            if not again or self._closing is not None:
                raise
        session, pool = await self._opened()
        return await run_once(session, pool, command, limits, fresh=True)

    async def _opened(self) -> tuple[S, Pool]:
        """The session that all runs use; who needs a new one waits with all others for the same,
        and gets the same error where there is none.
        """
        if self._closing is not None:
            raise _was_closed()
        if self._opening is None or _is_over(self._opening):
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(_is_over)  # looked at, though nobody waits any more
        opening = self._opening
        await asyncio.wait({opening})
        if opening.cancelled():  # by `close`
            raise _was_closed()
        return opening.result()

    async def _open(self) -> tuple[S, Pool]:
        await self._leave()
        self._session = await self._start()
        self._pool = Pool(self._session, self._limits)
        try:
            await self._try_out(self._session, self._pool)
        except BaseException:
            await to_its_end(asyncio.create_task(self._leave()))
            raise
        self._pool.keep(self._pool_size)
        return self._session, self._pool

    async def _try_out(self, session: S, pool: Pool) -> None:
        """See whether a new session is of use. Raises SandboxUnavailable."""

    async def _leave(self) -> None:
        session, pool = self._session, self._pool
        if session is None:
            return
        await session.stop()
        if pool is not None:
            await pool.close()
        await session.close()
        self._session = self._pool = None


async def run_once(
    session: Session, pool: Pool, command: Command, limits: Limits, *, fresh: bool = False
) -> RunResult:
    """One run in one sandbox. Raises SandboxLost, SandboxUnavailable."""
    try:
        return await _run_taken(session, pool, command, limits, fresh=fresh)
    except SandboxUnavailable as error:
        session.notice(error)
        raise


async def _run_taken(
    session: Session, pool: Pool, command: Command, limits: Limits, *, fresh: bool
) -> RunResult:
    has_proxy = command.proxy is not None
    taken = await pool.take(limits, fresh=fresh, layers=command.layers, proxy=has_proxy)
    answer: RunResult | None = None
    cut = False
    started = time.monotonic()
    try:
        try:
            async with asyncio.timeout(limits.wall_seconds + policy.GRACE_SECONDS) as deadline:
                async with answered(taken, command.proxy):
                    answer = await _exchange(session, taken, command, limits)
        except (EOFError, OSError, Forged) as error:
            cut = not deadline.expired() and not isinstance(error, Forged)
        if answer is not None and answer.succeeded:
            return answer
        elapsed = time.monotonic() - started
        report = await taken.report(answer, cut=cut)
        if answer is None and report.lost:
            raise SandboxLost(report.why)
        # An agent that falls silent or lies was its code's doing.
        end = End.TIMEOUT if elapsed >= limits.wall_seconds else End.KILLED
        return explain_failure(answer or no_answer(end, elapsed), report)
    finally:
        ending = pool.give_back(taken)
        if answer is None:
            await to_its_end(ending)


async def _exchange(
    session: Session, taken: Instance, command: Command, limits: Limits
) -> RunResult:
    """Send the order and read the answer, of which nothing is believed without a check."""
    # Not the loop's clock: uvloop's counts whole milliseconds, and a run would seem to have taken
    # longer than its sandbox was there, which is taken for a lie.
    started = time.monotonic()
    await _send(taken.writer, session.order(command, limits))
    size = int.from_bytes(await taken.reader.readexactly(4), "big")
    if size > HEADER_BYTES:
        raise Forged(f"a header of {size} bytes")
    text = await taken.reader.readexactly(size)
    answer = read_header(text, command, limits, time.monotonic() - started)
    blobs = [await taken.reader.readexactly(size) for size in answer.sizes]
    return build_result(answer, blobs)


async def _send(writer: asyncio.StreamWriter, order: Order) -> None:
    """Send an order in the frames of `agent/wire.py`. Raises OSError where the sandbox is gone."""
    writer.write(order.head)
    for blob in order.blobs:
        writer.write(blob)
        await writer.drain()
    await writer.drain()


def _of_no_use(layers: Path, error: OSError) -> str:
    return f"the directory of layers, {layers}, cannot be used: {error}"


def _was_closed() -> SandboxUnavailable:
    return SandboxUnavailable("this sandbox was closed")


def _is_over(opening: asyncio.Task[tuple[Session, Pool]]) -> bool:
    """Whether another is to be opened: this one failed, or what it opened was lost."""
    if not opening.done():
        return False
    return opening.cancelled() or opening.exception() is not None or opening.result()[0].lost
