"""Proxy: a TCP port of loopback before another one, with network faults to switch on and off.

It runs in a thread with a loop of its own, so that a test or a drill uses it from anywhere:

    with Proxy("127.0.0.1", redis_port) as proxy:
        ...                                  # connect to proxy.port
        proxy.set(Fault(latency_seconds=0.5))
        proxy.set(BLACK_HOLE, Way.DOWN)      # answers get lost
        proxy.half_open(Side.SERVER)         # the server hangs up, unheard by the client
        proxy.heal()
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Self, TypeVar

from lab.drills.chaos.faults.tcp_connection import (
    BLACK_HOLE,
    PARTITION,
    PASS,
    ConnectionEnd,
    Direction,
    NetworkFault,
    ProxiedConnection,
    Side,
)

__all__ = ["BLACK_HOLE", "PARTITION", "PASS", "Direction", "FaultProxy", "NetworkFault", "Side"]

HOST = "127.0.0.1"
CONNECT_SECONDS = 5.0
CALL_SECONDS = 10.0
RECEIVE_BYTES = 32 * 1024
"""The kernel's buffer for each side: small, so that a slow reader has an effect soon."""

T = TypeVar("T")


class FaultProxy:
    """Faults apply to present and to later connections."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._faults = dict.fromkeys(Direction, PASS)
        self._counted: Counter[str] = Counter()
        self._connections: set[ProxiedConnection] = set()
        self._under_way: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._server: asyncio.Server | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(CALL_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(CALL_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_SECONDS)
        self._loop.close()

    def set(self, fault: NetworkFault, direction: Direction | None = None) -> None:
        """Set a fault in one direction or both, until another fault is set."""
        self._call(lambda: self._set(fault, Direction if direction is None else (direction,)))

    def heal(self) -> None:
        """Remove all faults. Connections that lost bytes are reset."""
        self._call(self._heal)

    def reset(self) -> None:
        """Reset all connections, towards both sides."""
        self._call(lambda: self._break(self._connections, "reset", ProxiedConnection.reset))

    def half_open(self, closed: Side) -> None:
        """Close all connections towards one side; the other side does not notice."""
        self._call(
            lambda: self._break(self._connections, "half_open", lambda r: r.half_open(closed))
        )

    def point_to(self, host: str, port: int) -> None:
        """Lead new connections to another server, as in a failover. Old connections are reset."""

        def point() -> None:
            self._target = (host, port)
            self._break(self._connections, "reset", ProxiedConnection.reset)

        self._call(point)

    def counters(self) -> Mapping[str, int]:
        """`accepted`, `unreached`, `ended`, `reset`, `half_open`, `cut`, and bytes by way:
        `bytes_up`, `bytes_down`, `lost_up`, `lost_down`.
        """
        return self._call(lambda: Counter(self._counted))

    def _call(self, act: Callable[[], T]) -> T:
        async def on_the_loop() -> T:
            return act()

        return asyncio.run_coroutine_threadsafe(on_the_loop(), self._loop).result(CALL_SECONDS)

    def _set(self, fault: NetworkFault, directions: Iterable[Direction]) -> None:
        for direction in directions:
            self._faults[direction] = fault
            for connection in self._connections:
                connection.set(direction, fault)

    def _heal(self) -> None:
        self._set(PASS, Direction)
        self._break(
            [connection for connection in self._connections if connection.torn],
            "reset",
            ProxiedConnection.reset,
        )

    def _break(
        self,
        connections: Iterable[ProxiedConnection],
        name: str,
        act: Callable[[ProxiedConnection], None],
    ) -> None:
        for connection in connections:
            self._counted[name] += 1
            act(connection)

    async def _listen(self) -> None:
        listening = _socket()
        listening.bind((HOST, 0))
        self._server = await asyncio.start_server(self._accept, sock=listening, limit=RECEIVE_BYTES)
        self.port = int(listening.getsockname()[1])

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._serve(ConnectionEnd(reader, writer)))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _serve(self, client: ConnectionEnd) -> None:
        self._counted["accepted"] += 1
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                server = await self._reach()
        except (OSError, TimeoutError):
            self._counted["unreached"] += 1
            client.reset()
            return
        connection = ProxiedConnection(client, server, self._faults, self._counted)
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
            self._counted["ended"] += 1

    async def _reach(self) -> ConnectionEnd:
        reaching = _socket()
        try:
            reaching.setblocking(False)
            await self._loop.sock_connect(reaching, self._target)
            return ConnectionEnd(*await asyncio.open_connection(sock=reaching, limit=RECEIVE_BYTES))
        except BaseException:
            reaching.close()
            raise


def _socket() -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    return listener
