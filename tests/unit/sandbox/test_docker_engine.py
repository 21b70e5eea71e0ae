"""Calls of an engine's API, against small test servers that misbehave."""

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
async def serving(path: Path, answer: bytes, *, hold: bool = False) -> AsyncIterator[list[bytes]]:
    """A server that sends the same bytes for each request. With `hold`, it then waits until the
    client closes. Yields the requests.
    """
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        if hold:
            await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(serve, path):
        yield requests


@pytest.fixture
def request_answer(tmp_path: Path) -> Callable:
    """Sends a request to a server with this answer."""

    async def send(answer: bytes, *, hold: bool = False, seconds: float = 5.0):
        path = tmp_path / "engine.sock"
        async with serving(path, answer, hold=hold):
            address = EngineAddress("unix", str(path))
            return await exchange.request(address, "GET", "/x", {"a": 1}, seconds=seconds)

    return send


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
async def test_a_complete_answer_is_read(request_answer, answer: bytes, body) -> None:
    assert (await request_answer(answer)).body == body


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
async def test_a_broken_answer_is_reported(request_answer, answer: bytes) -> None:
    with pytest.raises(NoAnswer):
        await request_answer(answer)


async def test_a_silent_engine_times_out(request_answer) -> None:
    with pytest.raises(NoAnswer, match="TimeoutError"):
        await request_answer(b"HTTP/1.1 200 OK\r\n", hold=True, seconds=0.05)


async def test_a_missing_engine_is_reported_with_a_remedy(tmp_path: Path) -> None:
    engine = DockerEngine(parse_address(f"unix://{tmp_path}/none.sock"))
    with pytest.raises(EngineLost, match=r"Check that it is running.*FETTLE_SANDBOX_ENGINE"):
        await engine.open()
    assert not await engine.answers()


async def test_calls_use_the_newest_version_that_both_sides_have(tmp_path: Path) -> None:
    for engine_version, prefix in (("1.41", b"/v1.41/"), ("1.99", b"/v1.51/")):
        path = tmp_path / engine_version
        head = f"HTTP/1.1 200 OK\r\nApi-Version: {engine_version}\r\nContent-Length: 2\r\n\r\n{{}}"
        async with serving(path, head.encode()) as requests:
            engine = DockerEngine(EngineAddress("unix", str(path)))
            await engine.open()
            await engine.facts()
            assert requests[1].startswith(b"GET " + prefix + b"info ")


@pytest.mark.parametrize("version", ["Api-Version: 1.40", "Api-Version: x", "Server: nginx"])
async def test_another_server_or_an_old_engine_is_refused(tmp_path: Path, version: str) -> None:
    path = tmp_path / "engine.sock"
    answer = f"HTTP/1.1 200 OK\r\n{version}\r\nContent-Length: 2\r\n\r\nOK"
    async with serving(path, answer.encode()):
        with pytest.raises(SandboxUnavailable, match=r"not a Docker engine|Docker 20\.10"):
            await DockerEngine(EngineAddress("unix", str(path))).open()


async def test_a_refusal_contains_the_engines_text(tmp_path: Path) -> None:
    path = tmp_path / "engine.sock"
    message = b'{"message": "no space left on device"}'
    answer = b"HTTP/1.1 500 Oh\r\nContent-Length: %d\r\n\r\n%s" % (len(message), message)
    async with serving(path, answer):
        with pytest.raises(SandboxUnavailable, match=r"refused.*500.*no space left on device"):
            await DockerEngine(EngineAddress("unix", str(path))).create({}, "sandbox")


@pytest.mark.parametrize(
    ("host", "scheme", "path_or_host", "port"),
    [
        ("tcp://10.0.0.1:99", "tcp", "10.0.0.1", 99),
        ("tcp://engine", "tcp", "engine", 2375),
    ],
)
def test_addresses_are_parsed_as_docker_host(host, scheme, path_or_host, port) -> None:
    address = parse_address(host)
    assert (address.scheme, address.path_or_host, address.port) == (scheme, path_or_host, port)


@pytest.mark.parametrize(
    "host", ["", "docker.sock", "http://x", "unix://", "tcp://x:ninety", "ssh://me@engine"]
)
def test_an_invalid_address_is_refused(host: str) -> None:
    with pytest.raises(SandboxUnavailable, match="not an engine's address"):
        parse_address(host)
