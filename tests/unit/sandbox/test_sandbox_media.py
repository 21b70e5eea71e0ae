from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.media import DESCRIPTION_CHARACTERS, PLAIN, UNKNOWN, media_type, read_description

PAGE = b"<!doctype html><script>alert(1)</script>"
DRAWING = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>'
OFFICE = "application/vnd.openxmlformats-officedocument"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        ("plot.png", PNG, "image/png"),
        ("plot", PNG, "image/png"),
        ("a.webp", b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
        ("a.zip", b"PK\x03\x04\x14\0", "application/zip"),
        ("a.xlsx", b"PK\x03\x04\x14\0", f"{OFFICE}.spreadsheetml.sheet"),
        ("a.csv", b"x,y\n1,2\n", "text/csv"),
        ("a.svg", DRAWING, "image/svg+xml"),
        ("a.html", PAGE, "text/html"),
        ("Makefile", b"all:\n\ttrue\n", PLAIN),
        ("a.npy", b"\x93NUMPY\x01\0", UNKNOWN),
        ("", b"", PLAIN),
    ],
)  # fmt: skip
def test_the_bytes_of_a_file_determine_its_type(path: str, content: bytes, expected: str) -> None:
    assert media_type(path, content) == expected


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG file with these chunks; checksums are not read."""
    parts = (len(data).to_bytes(4) + kind + data + bytes(4) for kind, data in chunks)
    return PNG[:8] + b"".join(parts)


HEADER = (b"IHDR", bytes(13))
LATIN = (b"tEXt", b"Description\0Umsatz f\xfcr M\xe4rz:\n 3 bars")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (png(HEADER, LATIN), "Umsatz f\u00fcr M\u00e4rz: 3 bars"),
        (png(HEADER, (b"tEXt", b"Software\0x"), LATIN), "Umsatz f\u00fcr M\u00e4rz: 3 bars"),
        (png((b"iTXt", b"Description\0\0\0en\0\0\xe2\x82\xac per day")), "\u20ac per day"),
        (png((b"iTXt", b"Description\0\1\0\0\0compressed")), ""),
        (png((b"tEXt", b"Description\0a\x1b[31m\x00b\xadc")), "a [31m b c"),
        (png((b"tEXt", b"Description\0" + b"x" * 9_000)), "x" * DESCRIPTION_CHARACTERS),
        (png((b"IDAT", b""), LATIN), ""),
        (png(HEADER, LATIN)[:40], ""),
        (PNG[:8] + b"\xff\xff\xff\xfftEXt" + LATIN[1], ""),
        (PNG, ""),
        (b"Description\0text", ""),
        (b"<svg><dc:description>3 bars &lt;a&gt;\n</dc:description></svg>", "3 bars <a>"),
        (b"<svg>" + b" " * 20_000 + b"<dc:description>far</dc:description></svg>", ""),
    ],
)
def test_the_description_of_a_picture_is_its_text(content: bytes, text: str) -> None:
    assert read_description(content) == text


@given(st.binary(max_size=200))
def test_any_bytes_have_a_description_on_one_line(content: bytes) -> None:
    assert read_description(PNG[:8] + content).isprintable()


@pytest.mark.parametrize("path", ["plot.png", "photo.jpg", "a.pdf", "a.zip", "x", "a.html.png"])
@pytest.mark.parametrize("content", [PAGE, DRAWING, b"alert(1)"])
def test_a_name_does_not_make_a_page_a_picture(path: str, content: bytes) -> None:
    assert media_type(path, content) == PLAIN


@pytest.mark.parametrize("path", ["a.csv", "a.html", "a.svg", "a.py", "a.png"])
def test_a_name_does_not_make_bytes_a_text(path: str) -> None:
    assert media_type(path, b"a,b\0\xff") == UNKNOWN


@given(st.text(), st.binary())
def test_the_type_is_always_one_plain_type(path: str, content: bytes) -> None:
    kind, slash, name = media_type(path, content).partition("/")
    assert kind.isalpha()
    assert slash
    assert name.isascii()
    assert name.isprintable()
