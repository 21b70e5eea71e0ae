"""The proxy for a process that may reach an operator's hosts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from support.servers.certificates import self_signed
from support.servers.package_index import serve, wheel
from support.servers.web_server import Answer, WebServer, web_server

from agents.ports.network import Target
from settings.tools import ToolSettings
from worker.egress.connect import Pinned, resolved
from worker.egress.hosts import Hosts
from worker.egress.packages.pip import PipPackages
from worker.egress.proxy import Proxy
from worker.repositories.setups import door


def a_proxy(*hosts: str, private: bool = True, most_bytes: int = 100_000) -> Proxy:
    return Proxy(Hosts(hosts, http=True), Pinned(resolved, private=private), most_bytes)


async def get(proxy: Proxy, *urls: str) -> list[httpx.Response]:
    async with proxy.serve() as address, httpx.AsyncClient(proxy=address) as client:
        return [await client.get(url) for url in urls]


async def test_listed_hosts_are_reached_and_others_are_not(server: WebServer) -> None:
    server.answers["/page"] = Answer(b"text")
    with web_server() as other:
        proxy = a_proxy(f"127.0.0.1:{server.port}")
        urls = [server.url("/page"), other.url("/page"), server.url("/page")]
        answers = await get(proxy, *urls)
        assert [each.status_code for each in answers] == [200, 403, 200]
        assert answers[0].text == "text"
        assert other.asked == []
        assert f"the host 127.0.0.1:{other.port} is not on the operator's list" in proxy.refused[0]
    assert "proxy-connection" not in server.headers[0]


async def test_what_comes_back_is_bounded_over_all_connections(server: WebServer) -> None:
    server.answers["/page"] = Answer(b"x" * 60_000, headers={"Content-Length": "60000"})
    proxy = a_proxy(f"127.0.0.1:{server.port}")
    with pytest.raises(httpx.RemoteProtocolError):
        await get(proxy, server.url("/page"), server.url("/page"))
    assert proxy.refused == ["the index sent more than 100000 bytes"]


async def test_pip_reaches_an_index_over_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the certificates that this machine trusts, with the password of the index's address."""
    certificate, context = self_signed(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    name = "colour-1.0-py3-none-any.whl"
    with web_server(context) as server:
        serve(server, {"colour": {name: wheel("colour", "1.0", {"colour.py": ""})}})
        (tmp_path / "list.txt").write_text("colour\n")
        index = f"https://me:secret@localhost:{server.port}/simple/"
        settings = ToolSettings(install_list=tmp_path / "list.txt", install_index=index)
        port = PipPackages.over(settings)
        assert port is not None
        markers = {"python_full_version": "3.11.7", "python_version": "3.11", "extra": ""}
        (found,) = await port.wheels(["colour"], Target(("py3-none-any",), markers))
        assert found.filename == name
        assert all(each["authorization"].startswith("Basic ") for each in server.headers)


async def test_a_plain_request_names_the_host_that_was_checked(server: WebServer) -> None:
    """One server has many names, and not all of them are on the list."""
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
    assert [each["host"] for each in server.headers] == [f"127.0.0.1:{server.port}"]
    assert server.headers[0]["x"] == "a"


async def test_nothing_follows_a_plain_request_of_a_setup() -> None:
    """Its host may serve a second one, whose target nobody has checked."""
    heard = bytearray()

    async def keeps_open(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while part := await reader.read(1_000):
            heard.extend(part)
            if b"last" in heard:
                writer.close()
                return
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            if b"first" in heard:
                await asyncio.sleep(0.2)
                writer.close()
                return

    server = await asyncio.start_server(keeps_open, "127.0.0.1", 0)
    place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    proxy = replace(a_proxy(place), only_reads=True)
    async with server, proxy.serve() as address:
        host, port = address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, port)
        asked = b"GET http://%b/first HTTP/1.1\r\n\r\n" % place.encode()
        writer.write(asked + b"GET http://other/last HTTP/1.1\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()
        async with httpx.AsyncClient(proxy=address) as client:
            refused = await client.post(f"http://{place}/last", content=b"x")
    assert b"/first" in heard
    assert b"last" not in heard
    assert refused.status_code == 403
    assert proxy.refused == ["http:// is for GET and HEAD alone, not POST"]


async def test_a_setup_reaches_an_intranet_by_names_in_full_alone(
    server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def rebound(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    monkeypatch.setattr(door, "resolved", rebound)
    server.answers["/page"] = Answer(b"text")
    listed = (f"http://own.test:{server.port}", f"http://*.test:{server.port}")
    proxy = door.Door.to(listed, tmp_path / "left.tar", 1, 100_000).proxy
    urls = [f"http://{name}.test:{server.port}/page" for name in ("own", "other")]
    assert [each.status_code for each in await get(proxy, *urls)] == [200, 403]
    assert "is not public" in proxy.refused[0]
