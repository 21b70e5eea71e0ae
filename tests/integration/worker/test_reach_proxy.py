"""The proxy for a process that may reach an operator's hosts."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from support.servers.web_server import Answer, WebServer, web_server

from worker.egress.hosts import HostList
from worker.egress.proxy import Proxy


def a_proxy(*hosts: str, private: bool = True, most_bytes: int = 100_000) -> Proxy:
    return Proxy(HostList(hosts, http=True), most_bytes, private=private)


async def get(proxy: Proxy, *urls: str) -> list[httpx.Response]:
    async with proxy.serve() as address, httpx.AsyncClient(proxy=address) as client:
        return [await client.get(url) for url in urls]


async def test_only_listed_hosts_are_reached(server: WebServer) -> None:
    server.answers["/page"] = Answer(b"text")
    with web_server() as other_server:
        proxy = a_proxy(f"127.0.0.1:{server.port}")
        urls = [server.url("/page"), other_server.url("/page"), server.url("/page")]
        answers = await get(proxy, *urls)
        assert [answer.status_code for answer in answers] == [200, 403, 200]
        assert answers[0].text == "text"
        assert other_server.requested_paths == []
        assert (
            f"the host 127.0.0.1:{other_server.port} is not on the operator's list"
            in proxy.refused[0]
        )
    assert "proxy-connection" not in server.headers[0]


async def test_the_received_bytes_of_all_connections_are_limited(server: WebServer) -> None:
    server.answers["/page"] = Answer(b"x" * 60_000, headers={"Content-Length": "60000"})
    proxy = a_proxy(f"127.0.0.1:{server.port}")
    with pytest.raises(httpx.RemoteProtocolError):
        await get(proxy, server.url("/page"), server.url("/page"))
    assert proxy.refused == ["the hosts sent more than 100000 bytes"]


async def test_each_connection_leads_to_the_single_host(server: WebServer) -> None:
    """ssh expects a plain tunnel, even above the limit of bytes and for an unreachable host."""
    server.answers["/page"] = Answer(b"text")
    server.answers["/large"] = Answer(b"x" * 200_000, headers={"Content-Length": "200000"})
    proxy = a_proxy("other.example")
    proxy.target = ("127.0.0.1", server.port)
    async with proxy.serve() as address, httpx.AsyncClient() as client:
        assert (await client.get(f"{address}/page")).text == "text"
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(f"{address}/large")
        proxy.target = ("127.0.0.1", 1)
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(f"{address}/page")
    assert (proxy.is_over_limit, len(proxy.unreached)) == (True, 1)
    assert server.requested_paths == ["/page", "/large"]


async def test_a_plain_request_must_name_the_checked_host(server: WebServer) -> None:
    """One server may have many names, and not all of them are on the list."""
    server.answers["/page"] = Answer(b"text")
    proxy = a_proxy(f"127.0.0.1:{server.port}")
    async with proxy.serve() as address:
        for lines in ("Host: other\r\nX: a", "X: a\nHost: other", "Host : other", " Host: other"):
            reader, writer = await asyncio.open_connection(
                *address.removeprefix("http://").split(":")
            )
            writer.write(f"GET {server.url('/page')} HTTP/1.1\r\n{lines}\r\n\r\n".encode())
            await reader.read()
            writer.close()
    assert {answer["host"] for answer in server.headers} == {f"127.0.0.1:{server.port}"}
    assert "x" not in server.headers[0]
