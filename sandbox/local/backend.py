"""The backend `local`: rooms on this machine. No daemon, no root, no network."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox import frames, policy
from sandbox.layers import layers, probe
from sandbox.local.lines import wants_libraries
from sandbox.local.link import Dropped, Link, RoomLost, SupervisorLost
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

_BUFFER_BYTES = 1024 * 1024


class LocalSandbox:
    """Runs each command in a room of its own; implements `protocol.Sandbox`.

    `python` is the interpreter for the code (`.venv/sandbox/bin/python`), `pool_size` the number of
    rooms that stand ready in each line (`lines.py`; 0: each is made when it is asked for), `bwrap`
    another bubblewrap than the system's, `uid` what a supervisor that starts as root becomes,
    `generation` the number of rooms after which the process that they are copied from is replaced,
    `cpus` how many processors (a fraction, too) a run may keep busy where there are control groups.
    `own_interpreter` has each run start an interpreter instead of taking a copy of the zygote's.
    Where a `private` path lies in a tree that code sees, no run is made.

    The supervisor starts with the first run, and again where it has died. One instance belongs to
    one event loop; make it after a fork, not before: a child that inherits its socket would keep
    the rooms alive.
    """

    def __init__(
        self,
        python: Path,
        *,
        pool_size: int = 2,
        bwrap: Path | None = None,
        uid: int = policy.HOST_UID,
        generation: int = policy.GENERATION_ROOMS,
        cpus: float | None = None,
        own_interpreter: bool = False,
        private: Iterable[Path] = (),
    ) -> None:
        self._own_interpreter = own_interpreter
        self._private = tuple(map(os.path.realpath, private))
        self._python, self._bwrap, self._uid = python.absolute(), bwrap, uid
        self._pool_size, self._generation, self._cpus = pool_size, generation, cpus
        self._link: Link | None = None
        self._facts: dict[str, Any] = {}
        self._starting = asyncio.Lock()
        self._closed = False

    @property
    def pool(self) -> PoolCount:
        """What stands ready in both lines, as of a second ago; from any thread."""
        link = self._link
        return PoolCount() if link is None or link.lost else link.pool

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See `protocol.Sandbox.run`. A run is free of effects, so one whose supervisor or nursery
        was lost is run once more.
        """
        require(command, limits)  # what is wrong with it is told before anything starts
        try:
            return await self._run(command, limits)
        except (SupervisorLost, RoomLost):
            return await self._run(command, limits)

    async def check(self) -> tuple[Layer, ...]:
        """See `protocol.Sandbox.check`."""
        result = await self.run(probe(), Limits())
        if not result.succeeded:
            raise SandboxUnavailable(f"a first run failed: {result.end}: {result.stderr.text}")
        return layers(result.stdout.text, self._facts)

    async def warmed(self) -> None:
        """Returns when rooms of both lines stand ready, which takes some seconds after the first
        start; before, no room has the usual libraries loaded.
        """
        link = await self._linked()
        await link.warmed()

    async def close(self) -> None:
        """See `protocol.Sandbox.close`. Whoever still waits for a run gets SandboxUnavailable."""
        self._closed = True
        async with self._starting:
            await self._unlink()

    async def _run(self, command: Command, limits: Limits) -> RunResult:
        link = await self._linked()
        python, own = self._facts["python"], self._own_interpreter
        ordered = order(command, limits, python, own_interpreter=own)
        return await _in_a_room(link, ordered, command, limits)

    async def _linked(self) -> Link:
        async with self._starting:
            if self._closed:
                raise SandboxUnavailable("this sandbox was closed")
            if self._link is not None and self._link.lost:
                await self._unlink()
            if self._link is None:
                self._link = await self._start()
            return self._link

    async def _unlink(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def _start(self) -> Link:
        link = Link(self._cpus)
        try:
            self._facts = await link.open(
                self._python, self._bwrap, self._uid, self._generation, self._private
            )
            await link.keep(self._pool_size, policy.work_bytes(Limits()))
        except BaseException:
            await link.close()
            raise
        return link


async def _in_a_room(link: Link, ordered: Order, command: Command, limits: Limits) -> RunResult:
    seconds, libraries = limits.wall_seconds + policy.GRACE_SECONDS, wants_libraries(command)
    number, room = await link.take(limits, seconds, libraries=libraries)
    started = time.monotonic()
    answer: RunResult | None = None
    try:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError, Forged):
            answer = await _talk(room, ordered, command, limits)
    finally:
        if answer is not None and answer.succeeded:
            # All that ran in it is dead, said the agent; the empty room need not be waited for.
            link.drop_soon(number)
        else:
            dropped = await link.drop(number)
    if answer is not None and answer.succeeded:
        return answer
    if answer is None and dropped.lost:
        raise RoomLost("the room's nursery has ended, and the room with it")
    elapsed = time.monotonic() - started
    return _in_the_light_of(dropped, answer, elapsed, limits)


def _in_the_light_of(
    dropped: Dropped, answer: RunResult | None, elapsed: float, limits: Limits
) -> RunResult:
    """The result of a run that failed, or gave no answer, with what its control group saw."""
    if answer is None:
        # An agent that falls silent or lies was its code's doing.
        answer = died(End.TIMEOUT if elapsed >= limits.wall_seconds else End.KILLED, elapsed)
    if answer.end not in {End.EXITED, End.SIGNALED, End.KILLED}:
        return answer
    if dropped.oom_kills:
        return replace(answer, end=End.MEMORY, exit_code=None, signal=None)
    if dropped.refused_forks:
        return replace(answer, end=End.PROCESSES, exit_code=None, signal=None)
    return answer


async def _talk(room: socket.socket, ordered: Order, command: Command, limits: Limits) -> RunResult:
    """Send the order and read the answer, of which nothing is believed without a check."""
    # Not the loop's clock: uvloop's counts whole milliseconds, and a run would seem to have taken
    # longer than its room was there, which is taken for a lie.
    started = time.monotonic()
    reader, writer = await asyncio.open_unix_connection(sock=room, limit=_BUFFER_BYTES)
    try:
        await frames.send(writer, ordered)
        text = await frames.receive_header(reader)
        answer = read_header(text, command, limits, time.monotonic() - started)
        return finish(answer, await frames.receive_blobs(reader, answer.sizes))
    finally:
        writer.close()
