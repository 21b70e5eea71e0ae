"""What a host says wrong is refused in words: it is no failure of the worker."""

from __future__ import annotations

import httpcore
import httpx
import pytest

from agents.errors import ToolRefused
from worker.egress.client import EgressClient
from worker.egress.connect import resolved
from worker.egress.hosts import Hosts, parsed


@pytest.mark.parametrize("location", ["//a:b:c/", "\x00", "https://[::1/"])
async def test_a_redirect_to_what_is_no_address(location: str) -> None:
    reach = EgressClient(Hosts(("a.example",)), 1_000, 1.0)
    response = httpcore.Response(302, headers=[(b"Location", location.encode())])
    with pytest.raises(ToolRefused, match="no address"):
        await reach._read(httpx.URL("https://a.example/"), response)


@pytest.mark.parametrize(
    "charset", ["charset*=us-ascii''utf-8; charset*0=x", "charset*0*=\xe9*\0=''"]
)
async def test_a_kind_that_cannot_be_read(charset: str) -> None:
    reach = EgressClient(Hosts(("a.example",)), 1_000, 1.0)
    headers = [(b"Content-Type", f"text/html; {charset}".encode("latin-1"))]
    with pytest.raises(ToolRefused, match="Content-Type that cannot be read"):
        await reach._read(httpx.URL("https://a.example/"), httpcore.Response(200, headers=headers))


@pytest.mark.parametrize("host", ["xn--.example", "\ud83d.example", "a\0b", "[::1"])
def test_an_address_that_no_host_can_have(host: str) -> None:
    with pytest.raises(ToolRefused, match="no address"):
        parsed(f"https://{host}/")


@pytest.mark.parametrize("host", ["a..b", "a" * 64 + ".example"])
async def test_a_name_that_no_host_can_have(host: str) -> None:
    with pytest.raises(ToolRefused, match="no host's name"):
        await resolved(host, 443)
