"""Determines the media type of a file from its bytes. Pure.

The suffix of the name counts only if the bytes agree: a web page called `plot.png` is text, and a
program called `table.csv` is not a table. A server that sends a file with this type, and with
`X-Content-Type-Options: nosniff`, sends no file that a browser would run by mistake. HTML, SVG and
scripts can run code, so they get their types only with their own suffixes.
"""

from __future__ import annotations

import codecs
import html
from collections.abc import Mapping
from types import MappingProxyType

HEAD_BYTES = 4096
"""The part of a file that determines its type."""
UNKNOWN = "application/octet-stream"
PLAIN = "text/plain"

DESCRIPTION_CHARACTERS = 1_000
_TEXT_BYTES = 16 * 1024
_PNG = b"\x89PNG\r\n\x1a\n"

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, _PNG, "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBPVP8", "image/webp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (257, b"ustar", "application/x-tar"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
    (0, b"\x89HDF\r\n\x1a\n", "application/x-hdf5"),
    (8, b"WAVEfmt ", "audio/wav"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (4, b"ftypmp4", "video/mp4"),
    (4, b"ftypiso", "video/mp4"),
)
"""Offset, bytes, type (file(1)'s magic; mimesniff.spec.whatwg.org)."""

_OFFICE = "application/vnd.openxmlformats-officedocument"
_ARCHIVES: Mapping[str, str] = MappingProxyType(
    {
        "docx": f"{_OFFICE}.wordprocessingml.document",
        "pptx": f"{_OFFICE}.presentationml.presentation",
        "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    }
)
"""The types of ZIP archives with these suffixes."""

_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "css": "text/css",
        "csv": "text/csv",
        "geojson": "application/geo+json",
        "htm": "text/html",
        "html": "text/html",
        "ipynb": "application/x-ipynb+json",
        "js": "text/javascript",
        "json": "application/json",
        "jsonl": "application/jsonl",
        "md": "text/markdown",
        "mjs": "text/javascript",
        "py": "text/x-python",
        "sh": "text/x-sh",
        "sql": "application/sql",
        "svg": "image/svg+xml",
        "toml": "application/toml",
        "tsv": "text/tab-separated-values",
        "xml": "application/xml",
        "yaml": "application/yaml",
        "yml": "application/yaml",
    }
)
"""The types of text files with these suffixes."""

_TEXT_CONTROLS = frozenset(b"\t\n\x0c\r\x1b")
_BINARY = bytes(byte for byte in (*range(32), 127) if byte not in _TEXT_CONTROLS)


def media_type(path: str, content: bytes) -> str:
    """The media type of a file, from its first bytes, and from its name if the name fits them.

    Unknown bytes are `application/octet-stream`, and text of an unknown kind is `text/plain`.
    """
    head = content[:HEAD_BYTES]
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    for offset, signature, kind in _SIGNATURES:
        if head.startswith(signature, offset):
            return _ARCHIVES.get(suffix, kind) if kind == "application/zip" else kind
    if not _is_text(head):
        return UNKNOWN
    if suffix == "svg" and b"<svg" not in head:
        return PLAIN
    return _TEXTS.get(suffix, PLAIN)


def read_description(content: bytes) -> str:
    """The text `Description` of a PNG or SVG file, on one line; empty if the file has no such text.

    In a sandbox, charts of matplotlib get one (`zygote/charts.py`). Every program can write one, so
    the text is untrusted.
    """
    if content.startswith(_PNG):
        text = _png_description(content)
    else:
        text = _svg_description(content[:_TEXT_BYTES])
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:DESCRIPTION_CHARACTERS].strip()


def _png_description(content: bytes) -> str:
    view, offset = memoryview(content), len(_PNG)
    while offset + 12 <= len(view):
        length = int.from_bytes(view[offset : offset + 4])
        kind = bytes(view[offset + 4 : offset + 8])
        if kind in {b"IDAT", b"IEND"}:  # texts may follow the pixels; matplotlib's do not
            break
        is_text = kind in {b"tEXt", b"iTXt"} and length <= _TEXT_BYTES
        if is_text and (text := _png_text(kind, bytes(view[offset + 8 : offset + 8 + length]))):
            return text
        offset += 12 + length
    return ""


def _svg_description(head: bytes) -> str:
    _, _, text = head.partition(b"<svg")[2].partition(b"<dc:description>")
    text, end, _ = text.partition(b"</dc:description>")
    return html.unescape(text.decode(errors="replace")) if end and b"<" not in text else ""


def _png_text(kind: bytes, data: bytes) -> str:
    """The text of a chunk with the keyword `Description`; empty for a compressed text."""
    keyword, _, text = data.partition(b"\0")
    if keyword != b"Description":
        return ""
    if kind == b"iTXt":
        if text[:1] != b"\0":
            return ""
        text = text[2:].partition(b"\0")[2].partition(b"\0")[2]
    return text.decode("latin-1" if kind == b"tEXt" else "utf-8", errors="replace")


def _is_text(head: bytes) -> bool:
    """Whether the bytes are UTF-8 without control characters; the last character may be cut."""
    if head.translate(None, _BINARY) != head:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True
