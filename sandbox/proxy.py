"""Answers the connections of a run to its proxy port, its only way out of its network.

The backends accept connections in different ways (`pool.Instance.accept`). This module passes a
bounded number of them at a time to the command's handler, until the end of the run.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sandbox.pool import Instance
from sandbox.protocol import ConnectionHandler, SandboxUnavailable

_PAUSE_SECONDS = 1.0
"""The pause after a failed `accept`: this process may be out of descriptors for a while."""
_END_SECONDS = 1.0
"""How long the handlers may take to end after the end of the run."""


@asynccontextmanager
async def answer_connections(
    instance: Instance, handler: ConnectionHandler | None
) -> AsyncIterator[None]:
    """Answer the code's connections inside of the context. At its end, cut all connections."""
    if handler is None:
        yield
        return
    proxy = _Proxy(instance, handler)
    proxy.start_tasks()
    try:
        yield
    finally:
        await proxy.end()


class _Proxy:
    """The tasks of one run; each waits for a connection and then answers it."""

    def __init__(self, instance: Instance, handler: ConnectionHandler) -> None:
        self._instance, self._handler = instance, handler
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._waiting = 0
        self._is_closed = False

    def start_tasks(self) -> None:
        """Wait for further connections, up to the limits of the backend."""
        while (
            not self._is_closed
            and self._waiting < self._instance.max_acceptors
            and len(self._tasks) < self._instance.max_connections
        ):
            self._waiting += 1
            task = asyncio.create_task(self._answer_next())
            self._tasks.add(task)
            task.add_done_callback(self._on_done)

    async def end(self) -> None:
        """Cut all connections, and wait a short time for their handlers."""
        self._is_closed = True
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=_END_SECONDS)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:  # of the handler: report it as a server of asyncio does
            context = {"message": "a connection of a sandbox was not answered", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
        self.start_tasks()

    async def _answer_next(self) -> None:
        try:
            reader, writer = await self._instance.accept()
        except (OSError, EOFError, SandboxUnavailable):
            await asyncio.sleep(_PAUSE_SECONDS)
            return
        finally:
            self._waiting -= 1
        self._writers.add(writer)
        self.start_tasks()
        try:
            # The code may have closed the connection, or sent less than the handler needs.
            with contextlib.suppress(OSError, EOFError):
                await self._handler(reader, writer)
                writer.close()
                await writer.wait_closed()
        finally:
            self._writers.discard(writer)
            writer.transport.abort()
