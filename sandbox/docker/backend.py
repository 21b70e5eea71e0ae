"""The backend `docker`: each command in a container of its own, of an engine near or far."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

from sandbox import frames, policy
from sandbox.docker import image, leftovers, profile, trial
from sandbox.docker.address import DEFAULT, Tls, parse
from sandbox.docker.container import Container, to_its_end
from sandbox.docker.engine import Engine, EngineLost, RoomLost
from sandbox.docker.layers import layers
from sandbox.docker.station import Station, open_station
from sandbox.layers import probe
from sandbox.order import Order, order, require
from sandbox.outcome import Forged, died, finish, read_header
from sandbox.protocol import (
    Command,
    End,
    Layer,
    Limits,
    PoolCount,
    RunResult,
    SandboxUnavailable,
)


class DockerSandbox:
    """Runs each command in a container of its own; implements `protocol.Sandbox`.

    `image` is one that `deploy/sandbox-image.sh` has made, `pool_size` the number of containers
    that stand ready (0: each is made when it is asked for), `engine` an address as in DOCKER_HOST
    (None: the system's socket), `tls` a directory with ca.pem, cert.pem and key.pem, `runtime` one
    that the engine has beside its own (runsc, kata), `cpus` how many processors a run may use.

    The engine is looked for with the first run, and again after it was lost. One instance belongs
    to one event loop.
    """

    def __init__(
        self,
        image: str = "fettle-sandbox",
        *,
        pool_size: int = 2,
        engine: str | None = None,
        tls: Path | None = None,
        runtime: str | None = None,
        cpus: float = 1.0,
    ) -> None:
        self._image, self._pool_size = image, pool_size
        self._engine, self._tls = engine or DEFAULT, tls
        self._runtime, self._cpus = runtime, cpus
        self._station: Station | None = None
        self._owner: leftovers.Owner | None = None
        self._trusted: set[trial.Subject] = set()
        self._opening: asyncio.Task[Station] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def pool(self) -> PoolCount:
        """The containers that no run has, with the usual libraries loaded; from any thread."""
        station = self._station
        return PoolCount() if station is None or station.lost else station.count

    @property
    def image_id(self) -> str | None:
        """What rooms are made of, once an engine was found: the digest of its image."""
        return None if self._station is None else self._station.image.id

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See `protocol.Sandbox.run`. A run is free of effects, so one whose engine was lost, or
        the way to its container, is tried once more.

        Here alone it is told that this was closed: whatever a run meets while that is done, a
        container that is marked for removal, or gone, or a stream that is cut, comes of it.
        """
        require(command, limits)  # what is wrong with it is told before all else
        try:
            return await self._run(command, limits)
        except SandboxUnavailable as error:
            if self._closing is None:
                raise
            raise _was_closed() from error

    async def check(self) -> tuple[Layer, ...]:
        """See `protocol.Sandbox.check`."""
        result = await self.run(probe(), Limits())
        if not result.succeeded:
            raise SandboxUnavailable(f"a first run failed: {result.end}: {result.stderr.text}")
        station = await self._opened()
        return layers(result.stdout.text, station.facts, station.kind)

    async def warmed(self) -> None:
        """Wait until `pool_size` containers stand ready. Raises SandboxUnavailable."""
        await (await self._opened()).pool.warmed()

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
        station = await self._opened()
        try:
            return await _in_a_container(station, command, limits)
        except SandboxUnavailable as error:
            again = station.lost or isinstance(error, RoomLost)
            if not again or self._closing is not None:
                raise
        return await _in_a_container(await self._opened(), command, limits)

    async def _opened(self) -> Station:
        """The station that all runs use; who needs a new one waits with all others for the same,
        and is told the same where there is none to be had.
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

    async def _leave(self) -> None:
        if self._station is not None:
            await self._station.close()
            self._station = None

    async def _open(self) -> Station:
        await self._leave()
        tls = None
        if self._tls is not None:
            tls = Tls(*(self._tls / name for name in ("ca.pem", "cert.pem", "key.pem")))
        engine = Engine(parse(self._engine, tls))
        self._owner = self._owner or leftovers.look()
        station = await open_station(engine, self._owner, self._image, self._runtime, self._cpus)
        try:
            await self._try_out(station)
        except BaseException:
            await to_its_end(asyncio.create_task(station.close()))
            raise
        station.pool.keep(self._pool_size)
        self._station = station
        return station

    async def _try_out(self, station: Station) -> None:
        """Another runtime than the engine's own has to show first that it can be relied on."""
        if self._runtime is None:
            return
        subject = trial.Subject(self._runtime, station.facts.version, station.image.id)
        if subject in self._trusted:
            return
        await trial.require(subject, lambda: _in_a_container(station, trial.COMMAND, Limits()))
        self._trusted.add(subject)


def _was_closed() -> SandboxUnavailable:
    return SandboxUnavailable("this sandbox was closed")


def _is_over(opening: asyncio.Task[Station]) -> bool:
    """Whether another is to be opened: this one failed, or what it opened was lost."""
    if not opening.done():
        return False
    return opening.cancelled() or opening.exception() is not None or opening.result().lost


async def _in_a_container(station: Station, command: Command, limits: Limits) -> RunResult:
    try:
        return await _one_run(station, command, limits)
    except EngineLost:
        station.lost |= not station.closed  # one that is being closed has its rooms to remove yet
        raise


async def _one_run(station: Station, command: Command, limits: Limits) -> RunResult:
    ordered = _order(station, command, limits)
    taken = await station.take(profile.shape(limits))
    answered = False
    try:
        started = time.monotonic()
        try:
            async with asyncio.timeout(limits.wall_seconds + policy.GRACE_SECONDS) as deadline:
                result = await _talk(taken, ordered, command, limits)
            answered = True
        except (EOFError, OSError, Forged) as error:
            elapsed = time.monotonic() - started
            cut = not deadline.expired() and not isinstance(error, Forged)
            await _require_its_own_fault(station, taken, error, cut=cut)
            result = died(End.TIMEOUT if elapsed >= limits.wall_seconds else End.KILLED, elapsed)
        return await _explained(result, station, taken)
    finally:
        gone = station.give_back(taken)
        if not answered:
            await to_its_end(gone)


async def _require_its_own_fault(
    station: Station, taken: Container, error: Exception, *, cut: bool
) -> None:
    """The agent shares the code's uid: one that falls silent or lies was its code's doing. Raises
    EngineLost or RoomLost where it was the engine's, or of who stands between.
    """
    if station.closed:  # with this backend, or because another run found it lost
        raise EngineLost("the engine was left during a run") from error
    if not await station.engine.answers():
        station.lost = True  # before its container is to be removed
        raise EngineLost(f"the engine was lost during a run: {error}") from error
    if cut and not await station.fate(taken).was_its_own():
        raise RoomLost(f"the connection to a run's container was cut: {error}") from error


async def _talk(taken: Container, ordered: Order, command: Command, limits: Limits) -> RunResult:
    """Send the order and read the answer, of which nothing is believed without a check."""
    started = time.monotonic()
    await frames.send(taken.connection.writer, ordered)
    reader = cast("asyncio.StreamReader", taken.streams)  # of which it is the one method needed
    text = await frames.receive_header(reader)
    answer = read_header(text, command, limits, time.monotonic() - started)
    return finish(answer, await frames.receive_blobs(reader, answer.sizes))


async def _explained(result: RunResult, station: Station, taken: Container) -> RunResult:
    """The kernel kills for memory without a word to the agent: only the engine is told."""
    killed = result.signal == signal.SIGKILL or result.end is End.KILLED
    failed = killed or (result.end is End.EXITED and not result.succeeded)
    if failed and await station.fate(taken).was_short_of_memory(wait=killed):
        return replace(result, end=End.MEMORY, exit_code=None, signal=None)
    return result


def _order(station: Station, command: Command, limits: Limits) -> Order:
    """The order; but without the limit of processes where the container's cgroup holds it. Without
    a user namespace of its own the kernel counts that one over all rooms of the machine.
    """
    whole = order(command, limits, image.PYTHON)
    if not station.counts_processes:
        return whole
    lines = whole.header.split("\n")
    kept = (line for line in lines if not line.startswith("rlimit RLIMIT_NPROC "))
    return replace(whole, header="\n".join(kept))
