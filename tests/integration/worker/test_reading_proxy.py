"""The proxy for code in a sandbox: the code may read from an operator's hosts, and does not learn
their credentials.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from support.servers.certificates import self_signed
from support.servers.git_repositories import create_repository
from support.servers.git_server import git_server
from support.servers.web_server import Answer, WebServer, web_server

from worker.egress.authority import MOST_HOSTS
from worker.egress.proxy import MAX_NOTES, Proxy
from worker.egress.transport import Resolver, resolve_host
from worker.repositories.credentials import basic
from worker.repositories.setups.run import SetupNetwork


@asynccontextmanager
async def reading(
    folder: Path,
    *hosts: str,
    most_bytes: int = 100_000,
    resolver: Resolver = resolve_host,
    **credentials: str,
) -> AsyncIterator[tuple[Proxy, str]]:
    """The proxy of a setup, with its address."""
    own_credentials = {authority.replace("_", ":"): item for authority, item in credentials.items()}
    async with SetupNetwork.open(
        hosts, own_credentials, folder / "left.tar", 1, most_bytes
    ) as network:
        network.proxy.resolver = resolver
        server = await asyncio.start_server(network.proxy.answer, "127.0.0.1", 0)
        async with server:
            yield network.proxy, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def client(proxy: Proxy, address: str) -> httpx.AsyncClient:
    context = ssl.create_default_context(cadata=proxy.authority.certificate().decode())
    return httpx.AsyncClient(proxy=address, verify=context)


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The TLS context of `localhost`, which this machine trusts."""
    certificate, context = self_signed(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return context


async def test_the_worker_adds_a_password_over_tls(tmp_path: Path, trusted: ssl.SSLContext) -> None:
    with web_server(trusted) as index, web_server(trusted) as other_server:
        index.answers["/page"] = Answer(b"text", headers={"Content-Length": "4"})
        other_server.answers["/page"] = Answer(b"other")
        authorities = [f"localhost:{item.port}" for item in (index, other_server)]
        own_credentials = {f"localhost_{index.port}": "Basic ours"}
        sent = {"Authorization": "Basic theirs", "Host": "other.example"}
        requested = (authorities[0], authorities[0], authorities[1])
        async with (
            reading(tmp_path, *authorities, **own_credentials) as (proxy, address),
            client(proxy, address) as asks,
        ):
            first, again, second = [
                await asks.get(f"https://{authority}/page?a=%2F", headers=sent)
                for authority in requested
            ]
        assert (first.status_code, again.status_code) == (404, 404)
        assert second.text == ""
        assert [item["authorization"] for item in index.headers] == ["Basic ours"] * 2
        assert [item["authorization"] for item in other_server.headers] == ["Basic theirs"]
        assert {item["host"] for item in index.headers} == {authorities[0]}
        assert index.requested_paths == ["/page?a=%2F"] * 2


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_code_can_only_read(tmp_path: Path, trusted: ssl.SSLContext, scheme: str) -> None:
    tls = trusted if scheme == "https" else None
    with web_server(tls) as server, web_server(tls) as other_server:
        server.answers["/page"] = Answer(b"text")
        authority = f"localhost:{server.port}"
        listed = authority if tls else f"http://{authority}"
        async with reading(tmp_path, listed) as (proxy, address), client(proxy, address) as asks:
            page = f"{scheme}://{authority}/page"
            answers = [
                await asks.get(page),
                await asks.head(page),
                await asks.post(page, content=b"x"),
                await asks.request("GET", page, content=b"x"),
                await asks.put(page, content=b"x"),
                await asks.post(f"{page}/git-upload-pack", content=b"x"),
            ]
            with pytest.raises(httpx.ProxyError) if tls else pytest.raises(AssertionError):
                answer = await asks.get(f"{scheme}://localhost:{other_server.port}/page")
                assert answer.status_code != 403
        assert [item.status_code for item in answers] == [200, 501, 403, 403, 403, 403]
        assert server.requested_paths == ["/page"]
        assert other_server.requested_paths == []
        assert proxy.refused == [
            "a setup may only read: POST is refused",
            "a setup may only read: a body of over 0 bytes is refused",
            "a setup may only read: PUT is refused",
            f"the host localhost:{other_server.port} is not on the operator's list: {listed}",
        ]


FETCH = {"Content-Type": "application/x-git-upload-pack-request"}


async def test_git_fetches_from_a_private_repository(
    tmp_path: Path, trusted: ssl.SSLContext
) -> None:
    create_repository(tmp_path / "served" / "app").commit({"a.txt": b"hello\n"})
    with git_server(tmp_path / "served", trusted) as server:
        server.credential = "ada:secret"
        own_credentials = {f"localhost_{server.port}": basic("ada:secret")}
        async with (
            reading(tmp_path, server.listed, **own_credentials) as (proxy, address),
            client(proxy, address) as asks,
        ):
            authority = tmp_path / "authority.pem"
            authority.write_bytes(proxy.authority.certificate())
            git = await asyncio.create_subprocess_exec(
                *("git", "clone", "--quiet", server.url("app/.git"), str(tmp_path / "clone")),
                env={
                    "PATH": os.defpath,
                    "https_proxy": address,
                    "GIT_SSL_CAINFO": str(authority),
                    "GIT_CONFIG_GLOBAL": os.devnull,
                },
            )
            assert await git.wait() == 0
            assert (tmp_path / "clone" / "a.txt").read_bytes() == b"hello\n"
            requested = len(server.requests)
            fetch = server.url("app/.git/git-upload-pack")
            answers = [
                await asks.post(server.url(path), content=b"0000", headers=FETCH)
                for path in (
                    "other/git-upload-pack",
                    "app/.git/git-upload-pack?x=1",
                    "app/.git/..;/git-upload-pack",
                    "app/.git/%2e%2e/git-upload-pack",
                    "app/.git/git-receive-pack",
                )
            ]
            answers.append(await asks.post(fetch, content=b"x"))
            answers.append(await asks.post(fetch, content=b"x" * 2_000_000, headers=FETCH))
            assert [item.status_code for item in answers] == [403] * 7
            assert len(server.requests) == requested
    assert proxy.refused == [
        "a setup may only read: POST is refused",
        "a setup may only read: a POST that is not from git is refused",
        "a setup may only read: a body of over 1048576 bytes is refused",
    ]


async def test_a_repository_must_be_offered_by_its_host(tmp_path: Path, server: WebServer) -> None:
    """An index may answer under such a name, too, but is no repository."""
    offer = "info/refs?service=git-upload-pack"
    kind = "application/x-git-upload-pack-advertisement"
    server.answers[f"/a/{offer}"] = Answer(b"text")
    server.answers[f"/b/{offer}"] = Answer(b"text", kind, 404)
    server.answers[f"/x;/../c/{offer}"] = Answer(b"text", kind)
    server.answers[f"/d?{offer}"] = Answer(b"text", kind)
    server.answers[f"/e/{offer}"] = Answer(b"text", kind)
    authority = f"http://127.0.0.1:{server.port}"
    async with reading(tmp_path, authority) as (proxy, address), client(proxy, address) as asks:
        bodies = {}
        for path in ("/a/", "/b/", "/x;/../c/", "/d?", "/e/"):
            await asks.get(f"{authority}{path}{offer}")
            answer = await asks.post(f"{authority}{path}git-upload-pack", headers=FETCH)
            bodies[path] = answer.status_code
    assert bodies == {"/a/": 403, "/b/": 403, "/x;/../c/": 403, "/d?": 403, "/e/": 501}


async def test_only_headers_that_a_read_needs_are_passed_on(
    tmp_path: Path, server: WebServer
) -> None:
    authority = f"http://127.0.0.1:{server.port}"
    headers = {
        "User-Agent": "pip/25",
        "Range": "bytes=0-9",
        "If-None-Match": "x",
        "Authorization": "Basic theirs",
        "X-HTTP-Method-Override": "DELETE",
        "X-Forwarded-Host": "other.example",
        "Forwarded": "host=other.example",
        "Cookie": "a=b",
        "Content-Type": "text/plain",
        "Npm-Session": "secret",
    }
    async with reading(tmp_path, authority) as (proxy, address), client(proxy, address) as asks:
        await asks.get(f"{authority}/page", headers=headers)
    (sent,) = server.headers
    assert sorted(sent) == [
        *("accept", "accept-encoding", "authorization", "host", "if-none-match", "range"),
        "user-agent",
    ]


async def test_endless_requests_take_no_memory(tmp_path: Path) -> None:
    async def inside(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    requested = [f"https://n{n}.listed.test/" for n in range(MOST_HOSTS + 20)]
    other_urls = [f"http://n{n}.other.test/" for n in range(50)]
    async with (
        reading(tmp_path, "*.listed.test", resolver=inside) as (proxy, address),
        client(proxy, address) as asks,
    ):
        for url in requested[:MOST_HOSTS]:
            assert (await asks.get(url)).status_code == 403
        for url in requested[MOST_HOSTS:]:
            with pytest.raises(httpx.ProxyError, match="403"):
                await asks.get(url)
        for url in other_urls:
            assert (await asks.get(url)).status_code == 403
    assert len(proxy.refused) == len(set(proxy.refused)) == MAX_NOTES


async def test_a_second_request_within_the_first_is_not_a_request(tmp_path: Path) -> None:
    """Two parsers of one text may find two different ends of a request: here, only one parser reads
    the text.
    """
    with web_server() as server:
        server.answers["/page"] = Answer(b"text", headers={"Content-Length": "4"})
        authority = f"127.0.0.1:{server.port}"
        async with reading(tmp_path, f"http://{authority}") as (_, address):
            for lines in ("Content-Length: 60", "Transfer-Encoding: chunked", "Host : x", "X: y"):
                reader, writer = await asyncio.open_connection(
                    *address.removeprefix("http://").split(":")
                )
                inner = f"GET http://{authority}/inner HTTP/1.1\r\nHost: other\r\n\r\n"
                head = (
                    f"GET http://{authority}/page HTTP/1.1\r\nHost: {authority}\r\n{lines}\r\n\r\n"
                )
                writer.write((head + inner).encode())
                writer.write_eof()
                await reader.read()
                writer.close()
    # After `X: y`, `inner` would be a separate request: it would go to the listed host, under its
    # name.
    assert server.requested_paths == ["/page", "/inner"]
    assert {item["host"] for item in server.headers} == {authority}


async def test_the_received_bytes_of_all_connections_are_limited(
    tmp_path: Path, server: WebServer
) -> None:
    server.answers["/page"] = Answer(b"x" * 60_000, headers={"Content-Length": "60000"})
    authority = f"http://127.0.0.1:{server.port}"
    async with reading(tmp_path, authority) as (proxy, address), client(proxy, address) as asks:
        await asks.get(f"{authority}/page")
        with pytest.raises(httpx.RemoteProtocolError):
            await asks.get(f"{authority}/page")
    assert proxy.refused == ["the hosts sent more than 100000 bytes"]


async def test_an_untrusted_certificate_is_named(tmp_path: Path) -> None:
    _, context = self_signed(tmp_path, "localhost")
    with web_server(context) as server:
        authority = f"localhost:{server.port}"
        async with reading(tmp_path, authority) as (proxy, address), client(proxy, address) as asks:
            assert (await asks.get(f"https://{authority}/page")).status_code == 403
    assert proxy.unreached == {}
    (reason,) = proxy.refused
    assert reason.startswith(f"{authority} has no certificate that this worker trusts: ")


async def test_an_intranet_is_reached_only_by_full_names(server: WebServer, tmp_path: Path) -> None:
    async def rebound(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    server.answers["/page"] = Answer(b"text")
    listed = (f"http://own.test:{server.port}", f"http://*.test:{server.port}")
    urls = [f"http://{name}.test:{server.port}/page" for name in ("own", "other")]
    async with (
        reading(tmp_path, *listed, resolver=rebound) as (proxy, address),
        client(proxy, address) as asks,
    ):
        assert [(await asks.get(url)).status_code for url in urls] == [200, 403]
    assert "is not public" in proxy.refused[0]


async def test_a_tunnel_leads_only_to_its_own_host(tmp_path: Path, trusted: ssl.SSLContext) -> None:
    """A server may use the host in the first line of a request instead of the host that the request
    was sent to.
    """
    with web_server(trusted) as server:
        authority = f"localhost:{server.port}"
        async with reading(tmp_path, authority) as (proxy, address):
            host, port = address.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            certificate = proxy.authority.certificate().decode()
            await writer.start_tls(
                ssl.create_default_context(cadata=certificate), server_hostname="localhost"
            )
            writer.write(b"GET https://other.example/page HTTP/1.1\r\nHost: other.example\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 403")
            writer.close()
    assert server.requested_paths == []
    assert proxy.refused == ["a request in a tunnel names a path of its host alone"]
