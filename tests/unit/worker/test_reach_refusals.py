"""What a host or a package says wrong is refused in words: it is no failure of the worker."""

from __future__ import annotations

import io
import struct
import zipfile

import httpcore
import httpx
import pytest

from agents.errors import ToolRefused
from worker.packages.wheel import needs
from worker.reach.connect import resolved
from worker.reach.hosts import Hosts, parsed
from worker.reach.reach import Reach

METADATA = b"Metadata-Version: 2.1\nName: attrs\nVersion: 1\nRequires-Dist: six\n"


@pytest.mark.parametrize("location", ["//a:b:c/", "\x00", "https://[::1/"])
async def test_a_redirect_to_what_is_no_address(location: str) -> None:
    reach = Reach(Hosts(("a.example",)), 1_000, 1.0)
    response = httpcore.Response(302, headers=[(b"Location", location.encode())])
    with pytest.raises(ToolRefused, match="no address"):
        await reach._read(httpx.URL("https://a.example/"), response)


@pytest.mark.parametrize(
    "charset", ["charset*=us-ascii''utf-8; charset*0=x", "charset*0*=\xe9*\0=''"]
)
async def test_a_kind_that_cannot_be_read(charset: str) -> None:
    reach = Reach(Hosts(("a.example",)), 1_000, 1.0)
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


def packed(method: int = zipfile.ZIP_DEFLATED, metadata: bytes = METADATA) -> bytearray:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as archive:
        archive.writestr("attrs-1.dist-info/METADATA", metadata)
    return bytearray(raw.getvalue())


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_wheel_as_wheels_are(method: int) -> None:
    assert [str(each) for each in needs(bytes(packed(method)), "a.whl", "attrs")] == ["six"]


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_ways_of_packing_are_not_unpacked(method: int) -> None:
    with pytest.raises(ToolRefused, match="neither stored nor deflated"):
        needs(bytes(packed(method)), "a.whl", "attrs")


def test_a_wheel_with_any_byte_broken_is_refused_or_read() -> None:
    whole = packed()
    for at in range(len(whole)):
        for value in (0x00, 0xFF, whole[at] ^ 0x41):
            broken = bytes(whole[:at]) + bytes([value]) + bytes(whole[at + 1 :])
            try:
                needs(broken, "a.whl", "attrs")
            except ToolRefused:
                continue


def test_deflated_bytes_that_are_none() -> None:
    whole = packed()
    (name, extra) = struct.unpack_from("<HH", whole, 26)
    begin = 30 + name + extra
    whole[begin : begin + 4] = b"\xff\xff\xff\xff"
    with pytest.raises(ToolRefused, match="no wheel"):
        needs(bytes(whole), "a.whl", "attrs")


@pytest.mark.parametrize("need", ["six<" + "9" * 5_000, "six; " + "(" * 3_900])
def test_needs_that_nobody_can_read(need: str) -> None:
    metadata = f"Metadata-Version: 2.1\nName: attrs\nRequires-Dist: {need}\n".encode()
    with pytest.raises(ToolRefused):
        needs(bytes(packed(metadata=metadata)), "a.whl", "attrs")


@pytest.mark.parametrize("line", ["Name: attrs\xe9", "Name: attrs\nRequires-Dist: s\xefx"])
def test_names_that_are_not_ascii(line: str) -> None:
    metadata = f"Metadata-Version: 2.1\n{line}\n".encode("latin-1")
    with pytest.raises(ToolRefused):
        needs(bytes(packed(metadata=metadata)), "a.whl", "attrs")
