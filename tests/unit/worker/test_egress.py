"""Which addresses a worker may connect to, and which hosts it refuses."""

from __future__ import annotations

import pytest

from agents.errors import ToolRefused
from worker.egress.hosts import HostList, parse_url, require_address

PUBLIC = ("8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8")
INTRANET = ("10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "127.0.0.1", "::1", "fd00::1",
            "::ffff:10.0.0.1", "::ffff:127.0.0.1")  # fmt: skip
NEVER = (
    *("169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fe80::1%eth0", "0.0.0.0", "::"),
    *("224.0.0.1", "ff02::1", "240.0.0.1", "255.255.255.255", "fec0::1", "192.0.0.8"),
    *("100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"),
    *("64:ff9b::7f00:1", "64:ff9b::808:808", "2002:7f00:1::", "2001:0:7f00:1::", "::7f00:1"),
)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached(address: str) -> None:
    require_address(address, private=False)
    require_address(address, private=True)


@pytest.mark.parametrize("address", INTRANET)
def test_an_intranet_is_reached_if_it_is_allowed(address: str) -> None:
    require_address(address, private=True)
    with pytest.raises(ToolRefused, match="is not public"):
        require_address(address, private=False)


@pytest.mark.parametrize("address", NEVER)
def test_other_addresses_are_never_reached(address: str) -> None:
    for private in (True, False):
        with pytest.raises(ToolRefused, match="is not public"):
            require_address(address, private=private)


LIST = HostList(
    (
        "docs.example.org",
        "*.example.net",
        "example.org:8443",
        "Upper.example.ORG",
        "[2001:db8::1]:8443",
    )
)


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.example.org/a?b=c#d",
        "https://DOCS.example.org./",
        "https://a.b.example.net/",
        "https://example.org:8443/x",
        "https://[2001:db8::1]:8443/x",
    ],
)
def test_hosts_on_the_list(url: str) -> None:
    LIST.require(parse_url(url))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://example.org/", "example.org is not on the operator's list"),
        ("https://docs.example.org.evil.test/", "not on the operator's list"),
        ("https://127.0.0.1/", "not on the operator's list"),
        ("http://docs.example.org/", "must begin with https://"),
        ("file:///etc/passwd", "no complete address"),
        ("https://me:secret@docs.example.org/", "must not have a user name"),
        ("docs.example.org", "no complete address"),
        ("https://docs.example.org/\x00", "this is no address"),
        ("https://docs.example.org/" + "a" * 3_000, "at most 2000 characters"),
    ],
)
def test_a_host_that_is_not_on_the_list_is_refused(url: str, words: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        LIST.require(parse_url(url))
    assert words in str(refused.value)
    assert "secret" not in str(refused.value)
