"""Which addresses a worker may connect to, and what it refuses of a host."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from agents.errors import ToolRefused
from worker.egress.address import require
from worker.egress.hosts import Hosts, parsed
from worker.egress.packages.allowed import ListUnfit, read

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
    require(address, private=False)
    require(address, private=True)


@pytest.mark.parametrize("address", INTRANET)
def test_an_intranet_is_reached_where_that_is_allowed(address: str) -> None:
    require(address, private=True)
    with pytest.raises(ToolRefused, match="is not public"):
        require(address, private=False)


@pytest.mark.parametrize("address", NEVER)
def test_others_are_never_reached(address: str) -> None:
    for private in (True, False):
        with pytest.raises(ToolRefused, match="is not public"):
            require(address, private=private)


LIST = Hosts(
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
    LIST.require(parsed(url))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://example.org/", "example.org is not on the operator's list"),
        ("https://docs.example.org.evil.test/", "not on the operator's list"),
        ("https://127.0.0.1/", "not on the operator's list"),
        ("http://docs.example.org/", "must begin with https://"),
        ("file:///etc/passwd", "no whole address"),
        ("https://me:secret@docs.example.org/", "no user name and no password"),
        ("docs.example.org", "no whole address"),
        ("https://docs.example.org/\x00", "this is no address"),
        ("https://docs.example.org/" + "a" * 3_000, "at most 2000 characters"),
    ],
)
def test_what_is_not_on_the_list_is_refused(url: str, words: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        LIST.require(parsed(url))
    assert words in str(refused.value)
    assert "secret" not in str(refused.value)


MARKERS = {"python_version": "3.11", "python_full_version": "3.11.7", "sys_platform": "linux"}
HASH = "a" * 64
PINNED = f"""
# made by a tool
Attrs==23.1.0 \\
    --hash=sha256:{HASH} \\
    --hash=sha256:{"b" * 64}  # two files
numpy==1.26.0 ; python_version < "3.12" --hash=sha256:{"c" * 64}
numpy==2.4.6 ; python_version >= "3.12" --hash=sha256:{"d" * 64}
"""


def test_a_list_is_read() -> None:
    allowed = read("attrs\nSome_Package >= 2, <3  # why\n\ntyping-extensions[x]\n")
    assert not allowed.pinned
    assert set(allowed.lines) == {"attrs", "some-package", "typing-extensions"}
    assert allowed.rules(MARKERS)["some-package"].specifier == SpecifierSet(">=2,<3")


def test_hashes_pin_files() -> None:
    allowed = read(PINNED)
    assert allowed.pinned
    attrs, numpy = (allowed.rules(MARKERS)[name] for name in ("attrs", "numpy"))
    assert attrs.hashes == {HASH, "b" * 64}
    assert (numpy.specifier, numpy.hashes) == (SpecifierSet("==1.26.0"), {"c" * 64})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("attrs\n-r other.txt\n", "not a package with its versions: '-r other.txt'"),
        ("-e .\n", "not a package"),
        ("attrs @ https://x.test/attrs.whl\n", "not from an address"),
        (f"attrs==1 --hash=sha256:{HASH}\nnumpy\n", "either every package has hashes, or none"),
        ("attrs; platform_machine ~= 'x'\n", "under a condition that means nothing"),
    ],
)
def test_a_list_that_is_not_understood_is_refused(text: str, words: str) -> None:
    with pytest.raises(ListUnfit) as unfit:
        read(text)
    assert words in str(unfit.value)
