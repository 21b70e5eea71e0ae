"""Tables as CSV (RFC 4180), safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi import Response

MEDIA_TYPE = "text/csv; charset=utf-8"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(
    name: str,
    columns: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A header line and rows, as a download."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column)) for column in columns])
    shown = {"Content-Disposition": f'attachment; filename="{name}.csv"', **(headers or {})}
    return Response(text.getvalue(), headers=shown, media_type=MEDIA_TYPE)


def _cell(value: Any) -> Any:
    """A cell's value; a text that a spreadsheet would read as a formula is marked as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
