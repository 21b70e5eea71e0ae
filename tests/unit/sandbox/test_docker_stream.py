"""The two streams of a container, separated from the engine's single stream."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.docker.connection import STDERR, STDERR_BYTES, STDOUT, ContainerStreams


def framed(number: int, data: bytes) -> bytes:
    return bytes((number, 0, 0, 0)) + len(data).to_bytes(4, "big") + data


def streams(*raw: bytes) -> ContainerStreams:
    reader = asyncio.StreamReader()
    reader.feed_data(b"".join(raw))
    reader.feed_eof()
    return ContainerStreams(reader)


@given(st.lists(st.tuples(st.sampled_from([STDOUT, STDERR]), st.binary(max_size=40))))
def test_standard_output_is_complete_for_any_pieces(pieces) -> None:
    async def check() -> None:
        stdout = b"".join(data for number, data in pieces if number == STDOUT)
        container = streams(*(framed(number, data) for number, data in pieces))
        half = len(stdout) // 2
        first = await container.readexactly(half)
        assert first + await container.readexactly(len(stdout) - half) == stdout
        with pytest.raises(asyncio.IncompleteReadError):
            await container.readexactly(1)
        stderr = b"".join(data for number, data in pieces if number == STDERR)
        assert container.stderr_tail == stderr.decode(errors="replace").strip()

    asyncio.run(check())


async def test_the_end_of_a_flood_on_standard_error_is_retained() -> None:
    flood = [framed(STDERR, b"x" * 100_000) for _ in range(20)]
    container = streams(*flood, framed(STDERR, b" the end"), framed(STDOUT, b"R"))
    assert await container.readexactly(1) == b"R"
    assert len(container.stderr_tail) <= STDERR_BYTES
    assert container.stderr_tail.endswith("the end")


async def test_an_end_within_a_piece_is_reported() -> None:
    for raw in (framed(STDOUT, b"abc")[:-1], b"\1\0\0", framed(STDERR, b"why")[:-1], b""):
        with pytest.raises(asyncio.IncompleteReadError):
            await streams(raw).readexactly(3)
