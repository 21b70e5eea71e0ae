"""Data files, as the critic reads them: head, tail and shape. Pure."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping

from agents.paths import visible
from agents.runs.sources import is_source
from agents.texts import as_text, head_and_tail, lines_of, listed
from sandbox.media import description_of, media_type

DATA_SHOWN = 3_000
"""Characters of a data file's head and tail together."""
INPUT_SHOWN = 12_000
"""Characters of an unchanged file with code or prose."""
MOST_PARSED = 1024 * 1024
"""Bytes of a file whose shape is determined."""
NAMES_SHOWN = 20
LONGEST_NAME = 40
_BOM = "\ufeff"
"""Programs for Windows begin a text with it."""


def shape_of(path: str, content: bytes) -> str:
    """What the file is, in one phrase: its size, its rows and columns."""
    kind = media_type(path, content)
    size = f"{len(content):,} bytes"
    text = as_text(content)
    if kind == "image/png" and text is None:
        width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))
        return f"{kind}, {width} x {height} pixels"
    if text is None:
        return f"{kind}, {size}"
    count = len(lines_of(text))
    lines = f"{count:,} line{'' if count == 1 else 's'}, {size}"
    shape = _SHAPES.get(kind)
    if shape is None or len(content) > MOST_PARSED:
        return lines
    try:
        return f"{lines}, {shape(text.removeprefix(_BOM))}"
    except (ValueError, RecursionError, csv.Error):
        return f"{lines}, not valid {kind.partition('/')[2].removeprefix('x-')}"


def excerpt_of(content: bytes) -> str:
    """The description of a picture, or else the head and the tail of a text; empty if the file has
    neither."""
    return description_of(content) or head_and_tail(as_text(content) or "", DATA_SHOWN)


def input_text(path: str, content: bytes) -> str:
    """An unchanged file that the work reads: code and prose up to INPUT_SHOWN, data in excerpts."""
    text = as_text(content) or ""
    if is_source(path, content):
        return head_and_tail(text, INPUT_SHOWN)
    is_prose = media_type(path, content) in {"text/plain", "text/markdown"}
    return text if is_prose and 0 < len(text) <= INPUT_SHOWN else excerpt_of(content)


def _table(text: str) -> str:
    first = text.partition("\n")[0]
    delimiter = max(",;\t|", key=first.count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    if not rows:
        return "no rows"
    widths = sorted({len(row) for row in rows})
    columns = " to ".join(str(width) for width in dict.fromkeys((widths[0], widths[-1])))
    return f"{len(rows):,} rows x {columns} columns, the first row: {_names(rows[0])}"


def _json(text: str) -> str:
    return _value(json.loads(text))


def _json_lines(text: str) -> str:
    values = [json.loads(line) for line in text.split("\n") if line.strip()]
    return f"{len(values):,} values" + (f", the first is {_value(values[0])}" if values else "")


def _value(value: object) -> str:
    if isinstance(value, dict):
        return f"an object with {len(value):,} keys ({_names(list(value))})"
    if isinstance(value, list):
        first = f", the first is {_value(value[0])}" if value and isinstance(value[0], dict) else ""
        return f"a list of {len(value):,}{first}"
    return f"a {type(value).__name__}"


def _names(names: list[str]) -> str:
    return listed([visible(name.strip()[:LONGEST_NAME]) for name in names], NAMES_SHOWN)


_SHAPES: Mapping[str, Callable[[str], str]] = {
    "text/csv": _table,
    "text/tab-separated-values": _table,
    "application/json": _json,
    "application/geo+json": _json,
    "application/jsonl": _json_lines,
}
