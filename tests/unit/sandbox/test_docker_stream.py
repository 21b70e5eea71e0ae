"""A container's two streams in one, taken apart again."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.docker.connection import STDERR, STDERR_BYTES, STDOUT, ContainerStreams


def framed(template: int, data: bytes) -> bytes:
    return bytes((template, 0, 0, 0)) + len(data).to_bytes(4, "big") + data


def streams(*raw: bytes) -> ContainerStreams:
    reader = asyncio.StreamReader()
    reader.feed_data(b"".join(raw))
    reader.feed_eof()
    return ContainerStreams(reader)


@given(st.lists(st.tuples(st.sampled_from([STDOUT, STDERR]), st.binary(max_size=40))))
def test_standard_output_is_whole_however_it_was_cut(pieces) -> None:
    async def check() -> None:
        expected_stdout = b"".join(data for template, data in pieces if template == STDOUT)
        read = streams(*(framed(template, data) for template, data in pieces))
        half = len(expected_stdout) // 2
        assert (
            await read.readexactly(half) + await read.readexactly(len(expected_stdout) - half)
            == expected_stdout
        )
        with pytest.raises(asyncio.IncompleteReadError):
            await read.readexactly(1)
        expected_stderr = b"".join(data for template, data in pieces if template == STDERR)
        assert read.stderr_tail == expected_stderr.decode(errors="replace").strip()

    asyncio.run(check())


async def test_of_a_flood_on_standard_error_the_end_is_kept() -> None:
    flood = [framed(STDERR, b"x" * 100_000) for _ in range(20)]
    read = streams(*flood, framed(STDERR, b" the end"), framed(STDOUT, b"R"))
    assert await read.readexactly(1) == b"R"
    assert len(read.stderr_tail) <= STDERR_BYTES
    assert read.stderr_tail.endswith("the end")


async def test_an_end_within_a_piece_is_an_end() -> None:
    for raw in (framed(STDOUT, b"abc")[:-1], b"\1\0\0", framed(STDERR, b"why")[:-1], b""):
        with pytest.raises(asyncio.IncompleteReadError):
            await streams(raw).readexactly(3)
