"""A file of a job as its page shows it: a picture, a table, formatted text, a notebook, or code.

A model wrote the file. So it becomes no active content: formatted text has no raw HTML, and all
other text is escaped. Pure.
"""

from __future__ import annotations

import csv
import json
import mimetypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from markupsafe import Markup

from api.http.foreign_text import visible
from api.pages.format.code import highlight
from api.pages.format.untrusted import printed, prose

MAX_BYTES = 256 * 1024
"""The largest file that is shown, except for pictures."""
MAX_ROWS, MAX_CELLS = 1_000, 20_000
"""The part of a table that is shown."""
MAX_NOTEBOOK_CELLS = 200
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_PROSE = Markup('<div class="prose">{}</div>')
_BLOCK = Markup('<pre class="{}" tabindex="0">{}</pre>')


@dataclass(frozen=True, slots=True)
class FileView:
    """The content of a file: rows, parts, or neither, as a picture has."""

    note: str = ""
    """The content that the page leaves out, and the reason."""
    rows: Sequence[Sequence[str]] = ()
    """The rows of a table. The first one is its header."""
    parts: Sequence[Markup] = ()


def is_picture(path: str) -> bool:
    """Whether the page shows the file as a picture, by its name. Drawings (SVG) are code."""
    return mimetypes.guess_type(path)[0] in _PICTURES


def view_file(path: str, content: bytes | None) -> FileView:
    """The view of a file. None: it was not read, as a file above `MAX_BYTES`. A text with the name
    of a picture is code: a program can run it."""
    if content is None:
        return FileView("" if is_picture(path) else "The file is too large to show here.")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return FileView("" if is_picture(path) else "The file is not text.")
    try:
        return _VIEWS[path.rpartition(".")[2].lower()](text)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, csv.Error):
        return FileView(parts=[_BLOCK.format("code", highlight(text, name=path))])


def _view_table(text: str, delimiter: str = ",") -> FileView:
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    rows = [[visible(cell) for cell in row] for row in islice(reader, MAX_ROWS + 1)]
    width = max(map(len, rows))
    if width > MAX_CELLS:
        raise ValueError("the table has too many columns")
    shown_rows = rows[: min(MAX_ROWS, MAX_CELLS // max(width, 1))]
    is_cut = len(shown_rows) < len(rows)
    note = f"These are the first {len(shown_rows):,} rows of the file." if is_cut else ""
    return FileView(note, rows=[row + [""] * (width - len(row)) for row in shown_rows])


def _view_notebook(text: str) -> FileView:
    """A Jupyter notebook of format 4."""
    notebook = json.loads(text)
    language = str(notebook.get("metadata", {}).get("language_info", {}).get("name", "python"))
    cells = notebook["cells"]
    parts = [part for cell in cells[:MAX_NOTEBOOK_CELLS] for part in _view_cell(cell, language)]
    hidden_cells = len(cells) - MAX_NOTEBOOK_CELLS
    return FileView(
        f"{hidden_cells:,} more cells are not shown." if hidden_cells > 0 else "", parts=parts
    )


def _view_cell(cell: Mapping[str, Any], language: str) -> Iterator[Markup]:
    source = "".join(cell["source"])
    is_prose = cell["cell_type"] == "markdown"
    yield (
        _PROSE.format(prose(source))
        if is_prose
        else _BLOCK.format("code", highlight(source, language))
    )
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        text = output.get("text") or data.get("text/plain") or output.get("traceback") or ""
        other_kinds = [f"\n({kind}: see the file)" for kind in data if kind != "text/plain"]
        yield _BLOCK.format("output", printed("".join([*text, *other_kinds])))


_VIEWS: Final[Mapping[str, Callable[[str], FileView]]] = {
    "csv": _view_table,
    "tsv": lambda text: _view_table(text, "\t"),
    "md": lambda text: FileView(parts=[_PROSE.format(prose(text))]),
    "ipynb": _view_notebook,
}
"""The views by the ending of a file's name."""
