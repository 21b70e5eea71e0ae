"""The talk with an engine, against small servers of our own that misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox.docker import exchange
from sandbox.docker.connection import EngineAddress, parse_address
from sandbox.docker.engine import DockerEngine, EngineLost
from sandbox.docker.exchange import NoAnswer
from sandbox.protocol import SandboxUnavailable

CHUNKED = (
    b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n5;x=y\r\n": 1}\r\n0\r\n\r\n'
)


@asynccontextmanager
async def serving(place: Path, answer: bytes, *, hold: bool = False) -> AsyncIterator[list[bytes]]:
    """A server that answers each request with the same bytes and hangs up, or does not."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        if hold:
            await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(serve, place):
        yield asked


@pytest.fixture
def ask(tmp_path: Path) -> Callable:
    async def asked(answer: bytes, *, hold: bool = False, seconds: float = 5.0):
        place = tmp_path / "engine.sock"
        async with serving(place, answer, hold=hold):
            there = EngineAddress("unix", str(place))
            return await exchange.request(there, "GET", "/x", {"a": 1}, seconds=seconds)

    return asked


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"a": 1}\n', {"a": 1}),
        (b'HTTP/1.1 200 OK\r\n\r\n{"a": 1}', {"a": 1}),
        (CHUNKED, {"a": 1}),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK", "OK"),
    ],
)
async def test_a_whole_answer_is_read(ask, answer: bytes, body) -> None:
    assert (await ask(answer)).body == body


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 2xx\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFF\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 3_000_000,
    ],
)
async def test_a_broken_answer_is_broken(ask, answer: bytes) -> None:
    with pytest.raises(NoAnswer):
        await ask(answer)


async def test_an_engine_that_is_silent_is_not_waited_for_for_ever(ask) -> None:
    with pytest.raises(NoAnswer, match="TimeoutError"):
        await ask(b"HTTP/1.1 200 OK\r\n", hold=True, seconds=0.05)


async def test_a_missing_engine_is_reported_with_what_to_do(tmp_path: Path) -> None:
    engine = DockerEngine(parse_address(f"unix://{tmp_path}/none.sock"))
    with pytest.raises(EngineLost, match=r"Check that it is running.*FETTLE_SANDBOX_ENGINE"):
        await engine.open()
    assert not await engine.answers()


async def test_the_newest_version_that_both_know_is_spoken(tmp_path: Path) -> None:
    for theirs, spoken in (("1.41", b"/v1.41/"), ("1.99", b"/v1.51/")):
        place = tmp_path / theirs
        head = f"HTTP/1.1 200 OK\r\nApi-Version: {theirs}\r\nContent-Length: 2\r\n\r\n{{}}"
        async with serving(place, head.encode()) as asked:
            engine = DockerEngine(EngineAddress("unix", str(place)))
            await engine.open()
            await engine.facts()
            assert asked[1].startswith(b"GET " + spoken + b"info ")


@pytest.mark.parametrize("version", ["Api-Version: 1.40", "Api-Version: x", "Server: nginx"])
async def test_what_is_no_engine_or_an_old_one_is_refused(tmp_path: Path, version: str) -> None:
    place = tmp_path / "engine.sock"
    answer = f"HTTP/1.1 200 OK\r\n{version}\r\nContent-Length: 2\r\n\r\nOK"
    async with serving(place, answer.encode()):
        with pytest.raises(SandboxUnavailable, match=r"not a Docker engine|Docker 20\.10"):
            await DockerEngine(EngineAddress("unix", str(place))).open()


async def test_a_refusal_carries_the_engines_text(tmp_path: Path) -> None:
    place = tmp_path / "engine.sock"
    said = b'{"message": "no space left on device"}'
    answer = b"HTTP/1.1 500 Oh\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said)
    async with serving(place, answer):
        with pytest.raises(SandboxUnavailable, match=r"refused.*500.*no space left on device"):
            await DockerEngine(EngineAddress("unix", str(place))).create({}, "sandbox")


@pytest.mark.parametrize(
    ("host", "scheme", "place", "port"),
    [
        ("tcp://10.0.0.1:99", "tcp", "10.0.0.1", 99),
        ("tcp://engine", "tcp", "engine", 2375),
    ],
)
def test_addresses_are_those_of_docker_host(host, scheme, place, port) -> None:
    found = parse_address(host)
    assert (found.scheme, found.path_or_host, found.port) == (scheme, place, port)


@pytest.mark.parametrize(
    "host", ["", "docker.sock", "http://x", "unix://", "tcp://x:ninety", "ssh://me@engine"]
)
def test_what_is_no_address_is_refused(host: str) -> None:
    with pytest.raises(SandboxUnavailable, match="not an engine's address"):
        parse_address(host)
