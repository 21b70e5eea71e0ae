"""A patch as its page shows it: files, a tree of folders, numbered lines with comments. Pure."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, starmap, zip_longest
from typing import Any

from markupsafe import Markup, escape

from api.http.foreign_text import visible
from api.pages.format import code
from jobs.model.review import Side
from jobs.view.patch import PatchFile, Row, parse_patch

MAX_OPEN_LINES = 500
"""The longest difference of a file that is shown open. A longer one is folded."""
MAX_LINE_CHARACTERS = 1_000
"""The longest line that is shown in full. A file with a longer line is generated."""
MAX_COLOURED_LINES = 2_000
"""Lines of a page that have syntax colours. The files after them have no colours."""
HUNK_HEADER = "place"
"""The kind of a row that is the header of a hunk."""
GENERATED = re.compile(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|bun\.lockb)$"
    r"|\.(lock|map|min\.js|min\.css|pb\.go|snap)$|_pb2(_grpc)?\.pyi?$"
)

Comment = Mapping[str, Any]
"""An earlier comment in the form of a review's payload, with its author as `by`."""
RowComments = Mapping[int, Sequence[Comment]]
"""Comments by the index of their row."""


@dataclass(slots=True)
class Folder:
    """A folder of changed files."""

    folders: dict[str, Folder] = field(default_factory=dict)
    """The folders in it, by name."""
    files: dict[str, int] = field(default_factory=dict)
    """The files in it by name: their indexes in the patch."""


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A changed file as the page shows it."""

    file: PatchFile
    folded: str
    """The reason for showing the file folded; empty if it is open."""
    lines: Markup | None
    """The lines with the comments on them; None if the page shows no lines."""
    apart: tuple[Comment, ...]
    """The comments on lines that the page does not show."""


def render_patch(
    content: bytes, comments: Sequence[Comment] = (), *, split: bool = False
) -> dict[str, Any]:
    """The values of the template of a patch: files, their tree, the sums of their lines, and the
    comments on files that the patch does not change. `split`: in two columns, before and after."""
    patch_files = parse_patch(content)
    deadline = time.monotonic() + code.COLOUR_SECONDS
    colourable_lines = MAX_COLOURED_LINES
    by_path: dict[str, list[Comment]] = {}
    for comment in comments:
        by_path.setdefault(comment["path"], []).append(comment)
    rendered = []
    for file in patch_files:
        is_coloured = len(file.rows) <= min(colourable_lines, MAX_OPEN_LINES)
        colourable_lines -= len(file.rows) if is_coloured else 0
        file_comments = by_path.pop(file.path, [])
        file_deadline = deadline if is_coloured else 0.0
        rendered.append(_render_file(file, file_comments, file_deadline, split=split))
    return {
        "files": rendered,
        "tree": folder_tree(patch_files),
        "insertions": sum(file.insertions for file in patch_files),
        "deletions": sum(file.deletions for file in patch_files),
        "apart": [comment for unmatched in by_path.values() for comment in unmatched],
    }


def _render_file(
    file: PatchFile, comments: Sequence[Comment], deadline: float, *, split: bool
) -> RenderedFile:
    row_comments = _comments_by_row(comments, file.rows)
    lines = None
    if file.rows:
        texts = _row_texts(file.path, file.rows, deadline)
        lines = (_split_lines if split else _unified_lines)(file.rows, texts, row_comments)
    attached = [comment for on_row in row_comments.values() for comment in on_row]
    apart = tuple(comment for comment in comments if comment not in attached)
    return RenderedFile(file, _folding_reason(file), lines, apart)


def _folding_reason(file: PatchFile) -> str:
    if GENERATED.search(file.path) or file.longest > MAX_LINE_CHARACTERS:
        return "generated"
    return "large" if file.lines > MAX_OPEN_LINES else ""


def folder_tree(files: Sequence[PatchFile]) -> Folder:
    """The files by folder. A folder that contains only one folder is joined with it."""
    top = Folder()
    for index, file in enumerate(files):
        *folders, name = file.path.split("/")
        parent = top
        for folder in folders:
            parent = parent.folders.setdefault(folder, Folder())
        parent.files[name] = index
    return _join_single_folders(top)


def remark(comment: Comment) -> Markup:
    """An earlier comment with its author, its line, and whether the line has changed."""
    state = "the line has changed" if comment["outdated"] else "the line is as it was"
    line = visible(comment["excerpt"][comment["at"]])
    old_line = Markup("<code>{}</code>\n").format(line) if comment["now"] is None else ""
    return Markup(
        '<span class="remark {}" role="note"><span class="remark-by"><strong>{}</strong> on line {}'
        "{}: <em>{}</em></span>\n{}{}</span>"
    ).format(
        "outdated" if comment["outdated"] else "open",
        visible(comment["by"]),
        comment["line"],
        " before the change" if comment["side"] == Side.OLD else "",
        state,
        old_line,
        visible(comment["text"]),
    )


def _unified_lines(rows: Sequence[Row], texts: Sequence[Markup], comments: RowComments) -> Markup:
    """The lines, each in a span with its kind as class and its numbers as `data-n`. A style shows
    the numbers, so that copied text has none."""
    width = _number_width(rows)
    spans = []
    for index, (row, text) in enumerate(zip(rows, texts, strict=True)):
        numbers = f"{row.old or '':>{width}}  {row.new or '':>{width}}"
        spans.append(f'<span class="d-{row.kind}" data-n="{numbers}">{text}</span>')
        spans += map(remark, comments.get(index, ()))
    return Markup("\n".join(spans))  # noqa: S704 - kinds and numbers are ours, texts are escaped


def _split_lines(rows: Sequence[Row], texts: Sequence[Markup], comments: RowComments) -> Markup:
    """The lines in two columns, before and after: cells from left to right, line by line."""
    width, cells = _number_width(rows), []
    for before, after in _row_pairs(rows):
        if before is not None and rows[before].kind == HUNK_HEADER:
            cells.append(f'<span class="d-place across">{texts[before]}</span>')
            continue
        cells.append(_cell(rows, texts, before, width, "left"))
        cells.append(_cell(rows, texts, after, width, "right"))
        for index in dict.fromkeys((before, after)):
            cells += map(remark, comments.get(index, ()) if index is not None else ())
    return Markup("\n".join(cells))  # noqa: S704 - kinds and numbers are ours, texts are escaped


def _cell(
    rows: Sequence[Row], texts: Sequence[Markup], index: int | None, width: int, side: str
) -> str:
    if index is None:
        return f'<span class="{side} d-none"></span>'
    row = rows[index]
    number = row.old if side == "left" else row.new
    return (
        f'<span class="{side} d-{row.kind}" data-n="{number or "":>{width}}">{texts[index]}</span>'
    )


def _row_texts(path: str, rows: Sequence[Row], deadline: float) -> list[Markup]:
    """The text of each row with its sign. Each side of a hunk is coloured as one text, until the
    `deadline` (of `time.monotonic`)."""
    texts = [_plain_text(row.text) for row in rows]
    if time.monotonic() > deadline or any(len(row.text) > MAX_LINE_CHARACTERS for row in rows):
        return texts
    lexer = code.lexer_of(path)
    for hunk in _hunks(rows):
        for kinds in (("same", "removed"), ("same", "added")):
            side = [index for index in hunk if rows[index].kind in kinds]
            lines = [visible(rows[index].text[1:]) for index in side]
            coloured = code.coloured_lines(lines, lexer, deadline)
            for index, line in zip(side, coloured, strict=True):
                texts[index] = escape(rows[index].text[:1]) + line
    return texts


def _plain_text(text: str) -> Markup:
    hidden = len(text) - MAX_LINE_CHARACTERS
    more = f" … {hidden:,} more characters" if hidden > 0 else ""
    return escape(visible(text[:MAX_LINE_CHARACTERS]) + more)


def _hunks(rows: Sequence[Row]) -> Iterator[range]:
    """The indexes of the rows of each hunk."""
    headers = [index for index, row in enumerate(rows) if row.kind == HUNK_HEADER]
    return starmap(range, pairwise([*headers, len(rows)]))


def _row_pairs(rows: Sequence[Row]) -> Iterator[tuple[int | None, int | None]]:
    """Indexes of the rows in the left and the right column: removed lines next to the added lines
    that follow them, each other line next to itself."""
    removed: list[int] = []
    added: list[int] = []
    for index, row in enumerate(rows):
        if row.kind == "removed" and not added:
            removed.append(index)
        elif row.kind == "added":
            added.append(index)
        else:
            yield from zip_longest(removed, added)
            removed, added = ([index], []) if row.kind == "removed" else ([], [])
            if row.kind != "removed":
                yield index, index
    yield from zip_longest(removed, added)


def _comments_by_row(comments: Sequence[Comment], rows: Sequence[Row]) -> RowComments:
    """The comments on lines of the patch, by the index of their row."""
    by_row: dict[int, list[Comment]] = {}
    for comment in comments:
        for index, row in enumerate(rows):
            number = row.old if comment["side"] == Side.OLD else row.new
            if comment["now"] is not None and number == comment["now"]:
                by_row.setdefault(index, []).append(comment)
                break
    return by_row


def _number_width(rows: Sequence[Row]) -> int:
    """The digits of the largest line number, at least two."""
    return max([2, *(len(str(n)) for row in rows for n in (row.old, row.new) if n)])


def _join_single_folders(folder: Folder) -> Folder:
    joined = (_join(name, _join_single_folders(child)) for name, child in folder.folders.items())
    return Folder(dict(joined), folder.files)


def _join(name: str, folder: Folder) -> tuple[str, Folder]:
    """The folder under its name; if it contains only one folder, that folder under both names."""
    if folder.files or len(folder.folders) != 1:
        return name, folder
    ((child_name, child),) = folder.folders.items()
    return f"{name}/{child_name}", child
