"""The output that an agent sends during a run."""

from __future__ import annotations

import itertools
import os
import select
import socket
from collections.abc import Callable, Iterator

import pytest

from sandbox.agent import wire
from sandbox.agent.live_output import LiveOutput
from sandbox.result import ForgedAnswer, parse_live_header

LATE = 1_000.0


def _pipe() -> tuple[int, int]:
    return os.pipe()


def _socket() -> tuple[int, int]:
    host, agent = socket.socketpair()
    return host.detach(), agent.detach()


@pytest.fixture(params=[_pipe, _socket])
def channel(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """The host's end and the agent's end: as of the backend `docker`, and as of `local`."""
    make: Callable[[], tuple[int, int]] = request.param
    ends = make()
    yield ends
    for fd in ends:
        os.close(fd)


def receive(host: int) -> list[bytes]:
    """The tails that were sent."""
    tails = []
    while select.select([host], [], [], 0)[0]:
        size = parse_live_header(wire.receive_sized(host), 1, LATE)
        assert size is not None
        tails.append(wire.receive_bytes(host, size))
    return tails


def test_only_new_output_is_sent_and_not_too_often(channel: tuple[int, int]) -> None:
    host, agent = channel
    live = LiveOutput(agent, 0.0)
    live.send_if_due(10.0)
    assert receive(host) == []
    live.add(b"one\n")
    for now in (0.0, 0.2, 0.25, 0.3, 0.5):
        live.send_if_due(now)
    live.add(b"two\n")
    for now in (0.3, 0.4, 0.5, 0.6, 0.8):
        live.send_if_due(now)
    assert receive(host) == [b"one\n", b"one\ntwo\n"]


def test_a_part_has_the_newest_bytes_and_a_bounded_size(channel: tuple[int, int]) -> None:
    host, agent = channel
    live = LiveOutput(agent, 0.0)
    for number in range(500):
        live.add(b"%06d\n" % number * 40)
    live.add(b"x" * 100_000 + b"last\n")
    live.send_if_due(1.0)
    (tail,) = receive(host)
    assert len(tail) == wire.LIVE_BYTES
    assert tail.endswith(b"xxlast\n")


def test_a_host_that_does_not_read_never_stops_the_agent(channel: tuple[int, int]) -> None:
    host, agent = channel
    live = LiveOutput(agent, 0.0)
    for number in itertools.count(1):
        live.add(b"%d" % number + b"x" * wire.LIVE_BYTES)
        live.send_if_due(number)
        if number == 1_000:  # 3 MB: much more than a pipe or a socket holds
            break
    received = receive(host)
    assert 1 < len(received) < 1_000
    live.add(b"newest")
    live.send_if_due(2_000.0)
    assert receive(host)[0].endswith(b"newest")


def test_a_closed_channel_is_ignored() -> None:
    host, agent = _socket()
    live = LiveOutput(agent, 0.0)
    os.close(host)
    live.add(b"x")
    live.send_if_due(1.0)
    os.close(agent)


def test_the_host_accepts_no_more_than_an_agent_sends() -> None:
    assert parse_live_header(b"end -\nstatus 0", 1, 1.0) is None
    assert parse_live_header(b"live 3072", 4, 1.0) == 3072
    for text in (b"live", b"live ", b"live -1", b"live 1x", b"live 3073", b"live 1\nend -",
                 b"live 99999999999"):  # fmt: skip
        with pytest.raises(ForgedAnswer):
            parse_live_header(text, 1, 1.0)
    with pytest.raises(ForgedAnswer):
        parse_live_header(b"live 0", 5, 1.0)
