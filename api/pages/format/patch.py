"""A patch as its page shows it: files, a tree of folders, numbered lines with comments. Pure."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise, starmap, takewhile, zip_longest
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape

from api.http.foreign_text import visible
from api.pages.format import code
from jobs.model.review import Side
from jobs.view.attention import MAX_LINE_CHARACTERS, generated_reason
from jobs.view.file_patch import CONTEXT_LINES
from jobs.view.patch import HUNK, HUNK_HEADER, PatchFile, Row

MAX_OPEN_LINES = 500
"""The longest difference of a file that is shown open. A longer one is folded."""
MAX_COLOURED_LINES = 2_000
"""Lines of a page that have syntax colours and marked words. The files after them have neither."""
MIN_SHARED = 0.3
"""The least part of the longer of two lines that both have: other lines have no marked words."""
_TOKEN = re.compile(r"\w+|\W")
_PIECE = re.compile(r"<[^<>]*>|&[^&;]*;|[^<&]")
"""A tag, or a character in HTML."""
MAX_CONTEXT_LINES = 100
"""The lines of a gap that each click shows."""

Comment = Mapping[str, Any]
"""An earlier comment in the form of a review's payload, with its author as `by`."""
RowComments = Mapping[int, Sequence[Comment]]
"""Comments by the index of their row."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Unchanged lines that a patch does not show, before a hunk or after the last hunk. A query has
    these fields."""

    job_id: str
    path: str
    at: str
    """The moment after the change: see `api.changes`."""
    first: int = 1
    """The number of the first line after the change."""
    last: int = 0
    """0: the last line of the file."""
    shift: int = 0
    """The number of a line before the change, less its number after the change."""
    width: int = 0
    """The digits of the line numbers of the file's patch."""
    split: bool = False

    def link(self) -> Markup:
        """A link that the lines of the gap replace; without scripts, it leads to the file."""
        page, query = f"/app/jobs/{self.job_id}", urlencode(asdict(self))
        text = f"Show lines {self.first} to {self.last or 'the end'}"
        return Markup(
            ' <a href="{}/view?{}" hx-get="{}/context?{}" hx-target="closest .d-place" '
            'hx-swap="outerHTML">{}</a>'
        ).format(page, query, page, query, text)


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
    facts: Sequence[str]
    """Why a reviewer should look at it: see `jobs.view.attention`."""
    digest: str
    """The digest of its change. A browser recognizes the same change in a later revision by it."""
    folded: str
    """The reason for showing the file folded; empty if it is open."""
    lines: Markup | None
    """The lines with the comments on them; None if the page shows no lines."""
    apart: tuple[Comment, ...]
    """The comments on lines that the page does not show."""


def render_patch(
    files: Sequence[PatchFile],
    comments: Sequence[Comment] = (),
    facts: Mapping[str, Sequence[str]] = MappingProxyType({}),
    *,
    split: bool = False,
    after: tuple[str, str] | None = None,
    program: PatchFile | None = None,
) -> dict[str, Any]:
    """The values of the template of a patch: files, their tree, and the comments on files that the
    patch does not change. Files with `facts`, by path, come first. `split`: in two columns, before
    and after. `after`: the job and the moment of the files after the change, if they are stored.
    `program`: one more change, of a program that is no file."""
    patch_files = sorted(
        [*files, *([program] if program else ())], key=lambda file: file.path not in facts
    )
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
        row_comments = _comments_by_row(file_comments, file.rows)
        attached = [comment for on_row in row_comments.values() for comment in on_row]
        lines = None
        if file.rows:
            texts = _row_texts(file, deadline if is_coloured else 0.0)
            rows = file.rows
            if after and file is not program and "deleted" not in file.notes:
                rows = _add_gap_links(
                    file.rows, texts, Gap(after[0], file.path, after[1], split=split)
                )
            lines = (_split_lines if split else _unified_lines)(rows, texts, row_comments)
        rendered.append(
            RenderedFile(
                file,
                facts.get(file.path, ()),
                _digest_change(file),
                _folding_reason(file),
                lines,
                tuple(comment for comment in file_comments if comment not in attached),
            )
        )
    return {
        "files": rendered,
        "tree": folder_tree(patch_files),
        "apart": [comment for unmatched in by_path.values() for comment in unmatched],
    }


def _digest_change(file: PatchFile) -> str:
    """A digest of the change. It is empty if the change may differ without another digest."""
    if file.unread or "binary" in file.notes:
        return ""
    rows = "\n".join((*file.notes, *(row.text for row in file.rows)))
    return hashlib.sha256(rows.encode(errors="backslashreplace")).hexdigest()[:16]


def _folding_reason(file: PatchFile) -> str:
    if reason := generated_reason(file):
        return reason
    lines = file.insertions + file.deletions
    return f"{lines:,} changed lines" if file.lines > MAX_OPEN_LINES else ""


def fact_text(fact: str) -> Markup:
    """A fact, with its quoted texts as code."""
    texts = [escape(visible(part)) for part in fact.split("`")]
    quoted = [Markup("<code>{}</code>").format(text) for text in texts]
    return Markup("").join(quoted[n] if n % 2 else text for n, text in enumerate(texts))


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


def _add_gap_links(rows: Sequence[Row], texts: list[Markup], file: Gap) -> Sequence[Row]:
    """Add a link to each gap to the text of the header below it, and a row for the last gap. git
    ends a hunk with less than three unchanged lines only at the end of the file."""
    gap = replace(file, width=_number_width(rows))
    for index, row in enumerate(rows):
        hunk = HUNK.match(row.text) if row.kind == HUNK_HEADER else None
        if hunk is None:
            continue
        old, olds, new, news = (int(number or 1) for number in hunk.groups())
        start = new + (news == 0)
        if gap.first < start:
            shift = old + (olds == 0) - start
            texts[index] += replace(gap, last=start - 1, shift=shift).link()
        gap = replace(gap, first=start + news, shift=old + (olds == 0) + olds - start - news)
    if [row.kind for row in rows[-CONTEXT_LINES:]] != ["same"] * CONTEXT_LINES:
        return rows
    texts.append(gap.link())
    return [*rows, Row(HUNK_HEADER, None, None, "")]


def render_gap(content: bytes | None, gap: Gap) -> Markup:
    """The lines of a gap that are nearest to its hunk, and a link to the others. `content`: of the
    file after the change; None if it is too large."""
    render_lines = _split_lines if gap.split else _unified_lines
    header = Row(HUNK_HEADER, None, None, "")
    if content is None:
        return render_lines([header], [Markup("The file is too large to show these lines.")], {})
    lines = content.decode(errors="backslashreplace").removesuffix("\n").split("\n")
    first, last = max(gap.first, 1), min(gap.last or len(lines), len(lines))
    if gap.last:
        first = max(first, last - MAX_CONTEXT_LINES + 1)
    else:
        last = min(last, first + MAX_CONTEXT_LINES - 1)
    numbers = range(first, last + 1)
    rows = [Row("context", n + gap.shift, n, f" {lines[n - 1]}") for n in numbers]
    texts = [_plain_text(row.text) for row in rows]
    if gap.last and first > gap.first:
        rows, texts = [header, *rows], [replace(gap, last=first - 1).link(), *texts]
    elif not gap.last and last < len(lines):
        rows, texts = [*rows, header], [*texts, replace(gap, first=last + 1).link()]
    return render_lines(rows, texts, {}, min(gap.width, 9))


def _unified_lines(
    rows: Sequence[Row], texts: Sequence[Markup], comments: RowComments, width: int = 0
) -> Markup:
    """The lines, each in a span with its kind as class and its numbers as `data-n`. A style shows
    the numbers, so that copied text has none."""
    width = max(width, _number_width(rows))
    spans = []
    for index, (row, text) in enumerate(zip(rows, texts, strict=True)):
        numbers = f"{row.old or '':>{width}}  {row.new or '':>{width}}"
        spans.append(f'<span class="d-{row.kind}" data-n="{numbers}">{text}</span>')
        spans += map(remark, comments.get(index, ()))
    return Markup("\n".join(spans))  # noqa: S704 - kinds and numbers are ours, texts are escaped


def _split_lines(
    rows: Sequence[Row], texts: Sequence[Markup], comments: RowComments, width: int = 0
) -> Markup:
    """The lines in two columns, before and after: cells from left to right, line by line."""
    width, cells = max(width, _number_width(rows)), []
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


def _row_texts(file: PatchFile, deadline: float) -> list[Markup]:
    """The text of each row with its sign. Each side of a hunk is coloured as one text, until the
    `deadline` (of `time.monotonic`), and the words that differ between two lines are marked."""
    rows = file.rows
    texts = [_plain_text(row.text) for row in rows]
    if time.monotonic() > deadline or any(len(row.text) > MAX_LINE_CHARACTERS for row in rows):
        return texts
    lexer = code.lexer_of(file.path)
    for hunk in _hunks(rows):
        for kinds in (("same", "removed"), ("same", "added")):
            side = [index for index in hunk if rows[index].kind in kinds]
            lines = [visible(rows[index].text[1:]) for index in side]
            coloured = code.coloured_lines(lines, lexer, deadline)
            for index, line in zip(side, coloured, strict=True):
                texts[index] = escape(rows[index].text[:1]) + line
    for before, after in _row_pairs(rows):
        if before is not None and after is not None and before != after:
            spans = changed_words(visible(rows[before].text), visible(rows[after].text))
            for index, span in zip((before, after), spans, strict=False):
                texts[index] = _mark(texts[index], *span)
    return texts


def changed_words(before: str, after: str) -> Sequence[tuple[int, int]]:
    """The part of each line, with its sign, between the words that both have at the beginning and
    at the end. Empty if they share too little."""
    old, new = _TOKEN.findall(before[1:]), _TOKEN.findall(after[1:])
    start = _count_equal(old, new)
    end = _count_equal(old[start:][::-1], new[start:][::-1])
    first = 1 + sum(map(len, old[:start]))
    last = sum(map(len, old[len(old) - end :]))
    shared = "".join((*old[:start], *old[len(old) - end :]))
    sizes = [len("".join(text.split())) for text in (shared, before[1:], after[1:])]
    if sizes[0] < MIN_SHARED * max(sizes):
        return ()
    return (first, len(before) - last), (first, len(after) - last)


def _count_equal(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _mark(html: Markup, start: int, end: int) -> Markup:
    """The HTML with the characters from `start` to `end` of its text in `mark` elements, each of
    which contains no other element."""
    pieces, position, is_open = list[str](), 0, False
    for piece in _PIECE.findall(html):
        is_marked = piece[0] != "<" and start <= position < end
        if is_marked != is_open:
            pieces.append("<mark>" if is_marked else "</mark>")
            is_open = is_marked
        pieces.append(piece)
        position += piece[0] != "<"
    pieces.append("</mark>" if is_open else "")
    return Markup("".join(pieces))  # noqa: S704 - escaped, with our own tags


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
