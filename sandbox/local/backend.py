"""The backend `local`: rooms of bubblewrap on this machine. No daemon, no root, no network."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path
from typing import Any

from sandbox import frames, policy
from sandbox.layers import layers, probe
from sandbox.local.link import Link, SupervisorLost
from sandbox.order import Order, order
from sandbox.outcome import Forged, died, finish, read_header
from sandbox.protocol import Command, End, Layer, Limits, RunResult, SandboxUnavailable

_BUFFER_BYTES = 1024 * 1024
_FONTS_LIMITS = Limits(wall_seconds=60.0, cpu_seconds=60)
_FONTS = """\
import pathlib, shutil
import matplotlib.font_manager
for each in pathlib.Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
    shutil.copy(each, "/work")
"""


class LocalSandbox:
    """Runs each command in a bubblewrap room of its own; implements `protocol.Sandbox`.

    `python` is the interpreter for the code (`.venv/sandbox/bin/python`), `pool_size` the number of
    rooms that stand ready (0: each is made when it is asked for), `bwrap` another bubblewrap than
    the system's, `uid` what a supervisor that starts as root becomes.

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
    ) -> None:
        self._python, self._bwrap, self._uid = python.absolute(), bwrap, uid
        self._pool_size = pool_size
        self._link: Link | None = None
        self._facts: dict[str, Any] = {}
        self._fonts: dict[str, bytes] | None = None
        self._starting = asyncio.Lock()
        self._closed = False

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See `protocol.Sandbox.run`. A run is free of effects, so one whose supervisor was lost is
        run once more.
        """
        order(command, limits, "python")  # what is wrong with it is told before anything starts
        try:
            return await self._run(command, limits)
        except SupervisorLost:
            return await self._run(command, limits)

    async def check(self) -> tuple[Layer, ...]:
        """See `protocol.Sandbox.check`."""
        result = await self.run(probe(), Limits())
        if not result.succeeded:
            raise SandboxUnavailable(f"a first run failed: {result.end}: {result.stderr.text}")
        return layers(result.stdout.text, self._facts)

    async def close(self) -> None:
        """See `protocol.Sandbox.close`. Whoever still waits for a run gets SandboxUnavailable."""
        self._closed = True
        async with self._starting:
            await self._unlink()

    async def _run(self, command: Command, limits: Limits) -> RunResult:
        link = await self._linked()
        return await _in_a_room(
            link, order(command, limits, self._facts["python"]), command, limits
        )

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
        link = Link()
        try:
            self._facts = await link.open(self._python, self._bwrap, self._uid)
            await self._lay_fonts(link)
            await link.keep(self._pool_size, policy.work_bytes(Limits()))
        except BaseException:
            await link.close()
            raise
        return link

    async def _lay_fonts(self, link: Link) -> None:
        """Build matplotlib's font cache once, in a room, and lay it into every later one.

        Without it each first plot searches for fonts anew, which doubles its time.
        """
        if self._fonts is None:
            command = Command.python(_FONTS)
            ordered = order(command, _FONTS_LIMITS, self._facts["python"])
            result = await _in_a_room(link, ordered, command, _FONTS_LIMITS)
            self._fonts = dict(result.changed)
        for name, data in self._fonts.items():
            await link.lay(f"{policy.FONT_CACHE}/{name}", data)


async def _in_a_room(link: Link, ordered: Order, command: Command, limits: Limits) -> RunResult:
    seconds = limits.wall_seconds + policy.GRACE_SECONDS
    number, room = await link.take(policy.work_bytes(limits), seconds)
    answered = False
    try:
        started = time.monotonic()
        try:
            result = await _talk(room, ordered, command, limits)
            answered = True
        except (asyncio.IncompleteReadError, OSError, Forged):
            # The agent shares the code's uid: one that falls silent or lies was its code's doing.
            elapsed = time.monotonic() - started
            result = died(End.TIMEOUT if elapsed >= limits.wall_seconds else End.KILLED, elapsed)
    finally:
        if answered:
            # All that ran in it is dead, said the agent; the empty room need not be waited for.
            link.drop_soon(number)
        else:
            await link.drop(number)
    return result


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
