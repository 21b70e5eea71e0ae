"""The one way out of a run's network: connections to a port inside, which the worker answers.

What has made the connections differs with the backend (`pool.Instance.accept`). Here they are
answered, a bounded number at a time, for as long as the run lasts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sandbox.pool import Instance
from sandbox.protocol import ConnectionHandler, SandboxUnavailable

_PAUSE_SECONDS = 1.0
"""After a connection could not be taken: this process may be short of descriptors for a while."""
_END_SECONDS = 1.0
"""How long those that are being answered at a run's end may take to notice it."""


@asynccontextmanager
async def answered(instance: Instance, handler: ConnectionHandler | None) -> AsyncIterator[None]:
    """Have the code's connections answered meanwhile. At the end all are cut."""
    if handler is None:
        yield
        return
    proxy = _Proxy(instance, handler)
    proxy.fill()
    try:
        yield
    finally:
        await proxy.end()


class _Proxy:
    """The tasks that wait for a connection each, or answer one."""

    def __init__(self, instance: Instance, handler: ConnectionHandler) -> None:
        self._instance, self._handler = instance, handler
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._waiting = 0
        self._over = False

    def fill(self) -> None:
        """Wait for further connections, where more may be answered."""
        while (
            not self._over
            and self._waiting < self._instance.acceptors
            and len(self._tasks) < self._instance.connections
        ):
            self._waiting += 1
            task = asyncio.create_task(self._take())
            self._tasks.add(task)
            task.add_done_callback(self._done)

    async def end(self) -> None:
        """Cut all connections, and wait a little for who answers them."""
        self._over = True
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=_END_SECONDS)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:  # the handler's own: it is reported as a server's of asyncio would be
            context = {"message": "a connection of a sandbox was not answered", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
        self.fill()

    async def _take(self) -> None:
        try:
            reader, writer = await self._instance.accept()
        except (OSError, EOFError, SandboxUnavailable):
            await asyncio.sleep(_PAUSE_SECONDS)
            return
        finally:
            self._waiting -= 1
        self._writers.add(writer)
        self.fill()
        try:
            # The code hung up, or sent less than it had to.
            with contextlib.suppress(OSError, EOFError):
                await self._handler(reader, writer)
                writer.close()
                await writer.wait_closed()
        finally:
            self._writers.discard(writer)
            writer.transport.abort()
