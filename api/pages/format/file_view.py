"""A file of a job as its page shows it: a picture, a table, formatted text, a notebook, or code.

A model wrote the file. So it becomes no active content: formatted text has no raw HTML, all other
text is escaped, and of a notebook's outputs only bitmaps are shown as pictures. Pure.
"""

from __future__ import annotations

import base64
import csv
import json
import mimetypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, starmap
from typing import Any, Final

from markupsafe import Markup

from api.http.foreign_text import visible
from api.pages.format.code import highlight
from api.pages.format.untrusted import printed, prose

MAX_BYTES = 256 * 1024
"""The largest file that is shown, except for pictures and notebooks; also the most text of a
notebook."""
MAX_NOTEBOOK_BYTES = 4 * 1024 * 1024
"""The largest notebook that is shown, with its pictures."""
MAX_ROWS, MAX_CELLS = 1_000, 20_000
"""The part of a table that is shown."""
MAX_NOTEBOOK_CELLS = 200
_BLOCK_CHARACTERS = 100
"""The characters that an output, one of its forms, or an attachment counts as, with its text."""
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BITMAPS: Final[Mapping[str, tuple[bytes, ...]]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
}
"""The pictures of a notebook that are shown: their first bytes, by media type."""
_PROSE = Markup('<div class="prose">{}</div>')
_BLOCK = Markup('<pre class="{}" tabindex="0">{}</pre>')
_PICTURE = Markup('<div class="picture"><img src="data:{};base64,{}" alt="{}"></div>')


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


def max_bytes(path: str) -> int:
    """The size of the largest file with this name that `view_file` takes."""
    return MAX_NOTEBOOK_BYTES if path.lower().endswith(".ipynb") else MAX_BYTES


def view_file(path: str, content: bytes | None) -> FileView:
    """The view of a file. None: it was not read, as a file above `max_bytes`. A text with the name
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
        return _view_code(path, text)


def _view_code(path: str, text: str) -> FileView:
    if len(text) > MAX_BYTES:
        return FileView("The file is too large to show here.")
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
    parts: list[Markup] = []
    characters_left, shown_cells = MAX_BYTES, 0
    for cell in cells[:MAX_NOTEBOOK_CELLS]:
        characters_left -= _count_characters(cell)
        if characters_left < 0:
            break
        parts += _view_cell(cell, language)
        shown_cells += 1
    hidden_cells = len(cells) - shown_cells
    return FileView(
        f"{hidden_cells:,} more cells are not shown." if hidden_cells else "", parts=parts
    )


def _count_characters(cell: Mapping[str, Any]) -> int:
    """The length of a cell's text, without its pictures, and of the markup around it."""
    outputs, attachments = cell.get("outputs", ()), cell.get("attachments", {})
    kinds = [kind for output in outputs for kind in output.get("data", ())]
    pictures = [kind for data in attachments.values() for kind in data]
    texts = [cell["source"], *map(_output_text, outputs), *kinds, *attachments, *pictures]
    blocks = len(outputs) + len(kinds) + len(attachments) + len(pictures)
    return sum(len("".join(text)) for text in texts) + _BLOCK_CHARACTERS * blocks


def _view_cell(cell: Mapping[str, Any], language: str) -> Iterator[Markup]:
    source = "".join(cell["source"])
    is_prose = cell["cell_type"] == "markdown"
    yield (
        _PROSE.format(prose(source))
        if is_prose
        else _BLOCK.format("code", highlight(source, language))
    )
    for name, data in cell.get("attachments", {}).items():
        yield from filter(None, starmap(partial(_picture, alt=name), data.items()))
    for output in cell.get("outputs", ()):
        yield from _view_output(output)


def _view_output(output: Mapping[str, Any]) -> Iterator[Markup]:
    """The text of an output, and its pictures. Other forms of the output are only named."""
    data, text = output.get("data", {}), "".join(_output_text(output))
    pictures = {
        kind: picture
        for kind in data
        if (picture := _picture(kind, data[kind], text.strip() or "Output")) is not None
    }
    others = [kind for kind in data if kind != "text/plain" and kind not in pictures]
    if others or not pictures:
        names = [f"\n({kind}: see the file)" for kind in others]
        yield _BLOCK.format("output", printed("".join([text, *names])))
    yield from pictures.values()


def _output_text(output: Mapping[str, Any]) -> str | Sequence[str]:
    """The text of an output, or its lines."""
    return (
        output.get("text")
        or output.get("data", {}).get("text/plain")
        or output.get("traceback")
        or ""
    )


def _picture(kind: str, encoded: str | Sequence[str], alt: str) -> Markup | None:
    """A bitmap in base64 as a picture; None if it is no bitmap. A browser runs no script in it."""
    if kind not in _BITMAPS:
        return None
    try:
        content = base64.b64decode("".join("".join(encoded).split()), validate=True)
    except ValueError:
        return None
    if not content.startswith(_BITMAPS[kind]):
        return None
    return _PICTURE.format(kind, base64.b64encode(content).decode(), visible(alt[:200]))


_VIEWS: Final[Mapping[str, Callable[[str], FileView]]] = {
    "csv": _view_table,
    "tsv": lambda text: _view_table(text, "\t"),
    "md": lambda text: FileView(parts=[_PROSE.format(prose(text))]),
    "ipynb": _view_notebook,
}
"""The views by the ending of a file's name."""
