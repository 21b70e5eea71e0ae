"""What counts as one address and how many connections it has; how long each may stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from api.http.connections import Addresses, Connection, counted_as


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a-name", "a-name"),
    ],
)
def test_a_network_of_a_customer_is_one_address(host, counted):
    assert counted_as(host) == counted


class Transport:
    """A peer that takes in what it is sent as fast as a test says."""

    unsent = 0
    closing = aborted = False

    def __init__(self) -> None:
        self.written = b""

    def get_extra_info(self, name: str) -> Any:
        return ("192.0.2.7", 1) if name == "peername" else None

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.aborted = True


class Loop:
    """Calls that wait; a test lets the first one come."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, seconds: float, call: Callable[..., None], *args: Any) -> Any:
        entry = (seconds, lambda: call(*args))
        self.waiting.append(entry)
        return type("Handle", (), {"cancel": lambda _: self.waiting.remove(entry)})()

    def let_come(self) -> float:
        seconds, call = self.waiting.pop(0)
        call()
        return seconds


@pytest.fixture
def made() -> tuple[Connection, Transport, Loop]:
    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    loop, transport = Loop(), Transport()
    connection = Connection(
        config=uvicorn.Config(app, lifespan="off", ws="none"),
        server_state=ServerState(),
        app_state={},
        _loop=loop,
        addresses=Addresses(1),
        head_seconds=3.0,
    )
    connection.connection_made(transport)
    return connection, transport, loop


def test_a_client_that_still_takes_in_its_answer_has_more_time(made):
    _, transport, loop = made
    for transport.unsent in (900, 600, 10):
        loop.let_come()
        assert (transport.written, transport.aborted) == (b"", False)
    loop.let_come()
    assert transport.aborted, "it takes in nothing any more"


def test_a_connection_that_is_lost_leaves_its_place_and_no_clock(made):
    connection, _, loop = made
    assert not connection._addresses.enter("192.0.2.7")
    connection.connection_lost(None)
    assert connection._addresses.enter("192.0.2.7")
    assert loop.waiting == []
