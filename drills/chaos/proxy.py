"""Proxy: a TCP port of loopback before another one, with network faults to switch on and off.

It runs in a thread with a loop of its own, so that a test or a drill uses it from anywhere:

    with Proxy("127.0.0.1", redis_port) as proxy:
        ...                                  # connect to proxy.port
        proxy.set(Fault(latency_seconds=0.5))
        proxy.set(BLACK_HOLE, Way.DOWN)      # answers get lost
        proxy.half_open(Side.SERVER)         # the server hangs up, the client is not told
        proxy.heal()
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Self, TypeVar

from drills.chaos.relay import BLACK_HOLE, PARTITION, PASS, End, Fault, Relay, Side, Way

__all__ = ["BLACK_HOLE", "PARTITION", "PASS", "Fault", "Proxy", "Side", "Way"]

HOST = "127.0.0.1"
CONNECT_SECONDS = 5.0
CALL_SECONDS = 10.0
RECEIVE_BYTES = 32 * 1024
"""The kernel's buffer for each side: a slow reader must be felt after little."""

T = TypeVar("T")


class Proxy:
    """Faults hold for the connections there are and for later ones, unless one is named.

    Connections are numbered from 1 as they come.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._faults = dict.fromkeys(Way, PASS)
        self._refusing = False
        self._told: Counter[str] = Counter()
        self._relays: dict[int, Relay] = {}
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

    def set(self, fault: Fault, way: Way | None = None, connection: int | None = None) -> None:
        """Have a fault on one way or both, on one connection or all, until another is set."""
        self._call(lambda: self._set(fault, way, connection))

    def heal(self) -> None:
        """Pass everything on again. Connections that lost bytes are reset."""
        self._call(self._heal)

    def reset(self, connection: int | None = None) -> None:
        """Reset connections, towards both sides."""
        self._call(lambda: self._break(connection, "reset", Relay.reset))

    def half_open(self, closed: Side, connection: int | None = None) -> None:
        """Close connections towards one side alone; the other is not told."""
        self._call(lambda: self._break(connection, "half_open", lambda r: r.half_open(closed)))

    def refuse(self, refusing: bool = True) -> None:
        """Reset new connections as they come, or take them again."""
        self._call(lambda: setattr(self, "_refusing", refusing))

    def point_to(self, host: str, port: int) -> None:
        """Take new connections elsewhere: a failover. The old ones are reset."""

        def point() -> None:
            self._target = (host, port)
            self._break(None, "reset", Relay.reset)

        self._call(point)

    def connections(self) -> list[int]:
        """The connections that are open."""
        return self._call(lambda: sorted(self._relays))

    def counters(self) -> Mapping[str, int]:
        """`accepted`, `refused`, `unreached`, `reset`, `half_open`, `cut`, and bytes by way:
        `bytes_up`, `bytes_down`, `lost_up`, `lost_down`.
        """
        return self._call(lambda: Counter(self._told))

    def _call(self, act: Callable[[], T]) -> T:
        async def on_the_loop() -> T:
            return act()

        return asyncio.run_coroutine_threadsafe(on_the_loop(), self._loop).result(CALL_SECONDS)

    def _chosen(self, connection: int | None) -> list[Relay]:
        if connection is None:
            return list(self._relays.values())
        return [self._relays[connection]] if connection in self._relays else []

    def _set(self, fault: Fault, way: Way | None, connection: int | None) -> None:
        ways = Way if way is None else (way,)
        for one in ways:
            if connection is None:
                self._faults[one] = fault
            for relay in self._chosen(connection):
                relay.set(one, fault)

    def _heal(self) -> None:
        self._set(PASS, None, None)
        for relay in self._chosen(None):
            if relay.torn:
                self._break(relay.number, "reset", Relay.reset)

    def _break(self, connection: int | None, name: str, act: Callable[[Relay], None]) -> None:
        for relay in self._chosen(connection):
            self._told[name] += 1
            act(relay)

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
        task = self._loop.create_task(self._serve(End(reader, writer)))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _serve(self, client: End) -> None:
        if self._refusing:
            self._told["refused"] += 1
            client.reset()
            return
        self._told["accepted"] += 1
        number = self._told["accepted"]
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                server = await self._reach()
        except (OSError, TimeoutError):
            self._told["unreached"] += 1
            client.reset()
            return
        relay = Relay(number, client, server, self._faults, self._told)
        self._relays[number] = relay
        try:
            await relay.run()
        finally:
            del self._relays[number]

    async def _reach(self) -> End:
        reaching = _socket()
        try:
            reaching.setblocking(False)
            await self._loop.sock_connect(reaching, self._target)
            return End(*await asyncio.open_connection(sock=reaching, limit=RECEIVE_BYTES))
        except BaseException:
            reaching.close()
            raise


def _socket() -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    return made
