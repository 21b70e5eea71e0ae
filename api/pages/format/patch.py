"""The files that a patch changes as a page shows them. Pure."""

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

LARGE = 500
"""Lines of a file's difference: a longer one is folded."""
LONGEST = 1_000
"""Characters of a line that are shown. Nobody has written a longer one: the file is generated."""
COLOURED = 2_000
"""Lines of a page that have syntax colours: of the files after them none has."""
GENERATED = re.compile(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|bun\.lockb)$"
    r"|\.(lock|map|min\.js|min\.css|pb\.go|snap)$|_pb2(_grpc)?\.pyi?$"
)

Comment = Mapping[str, Any]
"""An earlier comment as a review's payload has it, and `by`."""
OnRows = Mapping[int, Sequence[Comment]]


def folded(file: PatchFile) -> str:
    """Why a file is shown folded; '' where it is shown open."""
    if GENERATED.search(file.path) or file.longest > LONGEST:
        return "generated"
    return "large" if file.lines > LARGE else ""


@dataclass(slots=True)
class Folder:
    """A folder of changed files: those in it by name, with their numbers in the patch."""

    folders: dict[str, Folder] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A changed file as the page shows it: the lines with the comments on them, None where there
    are none to show; and the comments on lines that are not there."""

    file: PatchFile
    folded: str
    lines: Markup | None
    apart: tuple[Comment, ...]


def shown(
    content: bytes, comments: Sequence[Comment] = (), *, split: bool = False
) -> dict[str, Any]:
    """What the template of a patch takes: files, their tree, the sums of their lines, and the
    comments on files that are not in it. `split`: both sides beside each other."""
    found, files, left = parse_patch(content), [], COLOURED
    until = time.monotonic() + code.COLOUR_SECONDS
    by_path: dict[str, list[Comment]] = {}
    for comment in comments:
        by_path.setdefault(comment["path"], []).append(comment)
    for file in found:
        own = by_path.pop(file.path, [])
        there = _there(own, file.rows)
        coloured = len(file.rows) <= min(left, LARGE)
        left -= len(file.rows) if coloured else 0
        texts = drawn_lines(file.path, file.rows, until if coloured else 0.0)
        lines = (beside if split else numbered)(file.rows, texts, there) if file.rows else None
        apart = tuple(each for each in own if not any(each in some for some in there.values()))
        files.append(ShownFile(file, folded(file), lines, apart))
    return {
        "files": files,
        "tree": tree(found),
        "insertions": sum(file.insertions for file in found),
        "deletions": sum(file.deletions for file in found),
        "apart": [each for own in by_path.values() for each in own],
    }


def tree(files: Sequence[PatchFile]) -> Folder:
    """The files by folder; a folder with nothing but one folder is one with it."""
    top = Folder()
    for number, file in enumerate(files):
        *folders, name = file.path.split("/")
        at = top
        for folder in folders:
            at = at.folders.setdefault(folder, Folder())
        at.files[name] = number
    return _joined(top)


def numbered(rows: Sequence[Row], texts: Sequence[Markup], comments: OnRows) -> Markup:
    """The lines of a difference, each in a span with its kind as class and its numbers as
    `data-n`, which a style shows beside it: copied text has none."""
    wide = _wide(rows)
    made = []
    for place, (row, text) in enumerate(zip(rows, texts, strict=True)):
        numbers = f"{row.old or '':>{wide}}  {row.new or '':>{wide}}"
        made.append(f'<span class="d-{row.kind}" data-n="{numbers}">{text}</span>')
        made += map(remark, comments.get(place, ()))
    return Markup("\n".join(made))  # noqa: S704 - kinds and numbers are ours, texts are escaped


def beside(rows: Sequence[Row], texts: Sequence[Markup], comments: OnRows) -> Markup:
    """The same in two columns, before and after: cells from left to right, line by line."""
    wide, made = _wide(rows), []
    for left, right in _pairs(rows):
        if left is not None and rows[left].kind == "place":
            made.append(f'<span class="d-place across">{texts[left]}</span>')
            continue
        made.append(_cell(rows, texts, left, wide, "left"))
        made.append(_cell(rows, texts, right, wide, "right"))
        for place in dict.fromkeys((left, right)):
            made += map(remark, comments.get(place, ()) if place is not None else ())
    return Markup("\n".join(made))  # noqa: S704 - kinds and numbers are ours, texts are escaped


def remark(comment: Comment) -> Markup:
    """An earlier comment, and where it stands."""
    how = "the line has changed" if comment["outdated"] else "the line is as it was"
    line = visible(comment["excerpt"][comment["at"]])
    was = Markup("<code>{}</code>\n").format(line) if comment["now"] is None else ""
    return Markup(
        '<span class="remark {}" role="note"><span class="remark-by"><strong>{}</strong> on line {}'
        "{}: <em>{}</em></span>\n{}{}</span>"
    ).format(
        "outdated" if comment["outdated"] else "open",
        visible(comment["by"]),
        comment["line"],
        " before the change" if comment["side"] == Side.OLD else "",
        how,
        was,
        visible(comment["text"]),
    )


def drawn_lines(path: str, rows: Sequence[Row], until: float) -> list[Markup]:
    """The text of each row, with its sign; coloured, each side of a hunk as one text, `until` it is
    too late (`time.monotonic`)."""
    texts = [_shown(row.text) for row in rows]
    if time.monotonic() > until or any(len(row.text) > LONGEST for row in rows):
        return texts
    lexer = code.lexer_of(path)
    for hunk in _hunks(rows):
        for kinds in (("same", "removed"), ("same", "added")):
            side = [place for place in hunk if rows[place].kind in kinds]
            lines = code.coloured_lines(
                [visible(rows[place].text[1:]) for place in side], lexer, until
            )
            for place, line in zip(side, lines, strict=True):
                texts[place] = escape(rows[place].text[:1]) + line
    return texts


def _hunks(rows: Sequence[Row]) -> Iterator[range]:
    begins = [place for place, row in enumerate(rows) if row.kind == "place"]
    return starmap(range, pairwise([*begins, len(rows)]))


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[int | None, int | None]]:
    """The places of the rows that stand beside each other: removed lines beside the added ones
    that follow them, all others beside themselves."""
    removed: list[int] = []
    added: list[int] = []
    for place, row in enumerate(rows):
        if row.kind == "removed" and not added:
            removed.append(place)
        elif row.kind == "added":
            added.append(place)
        else:
            yield from zip_longest(removed, added)
            removed, added = ([place], []) if row.kind == "removed" else ([], [])
            if row.kind != "removed":
                yield place, place
    yield from zip_longest(removed, added)


def _cell(
    rows: Sequence[Row], texts: Sequence[Markup], place: int | None, wide: int, side: str
) -> str:
    if place is None:
        return f'<span class="{side} d-none"></span>'
    row = rows[place]
    number = row.old if side == "left" else row.new
    return (
        f'<span class="{side} d-{row.kind}" data-n="{number or "":>{wide}}">{texts[place]}</span>'
    )


def _there(comments: Sequence[Comment], rows: Sequence[Row]) -> OnRows:
    """The comments on lines that the patch shows, by the place of their row."""
    found: dict[int, list[Comment]] = {}
    for comment in comments:
        for place, row in enumerate(rows):
            number = row.old if comment["side"] == Side.OLD else row.new
            if comment["now"] is not None and number == comment["now"]:
                found.setdefault(place, []).append(comment)
                break
    return found


def _wide(rows: Sequence[Row]) -> int:
    return max([2, *(len(str(n)) for row in rows for n in (row.old, row.new) if n)])


def _shown(text: str) -> Markup:
    more = f" … {len(text) - LONGEST:,} more characters" if len(text) > LONGEST else ""
    return escape(visible(text[:LONGEST]) + more)


def _joined(folder: Folder) -> Folder:
    joined = (_named(name, _joined(inner)) for name, inner in folder.folders.items())
    return Folder(dict(joined), folder.files)


def _named(name: str, folder: Folder) -> tuple[str, Folder]:
    """The folder, or the one folder that it has nothing but."""
    if folder.files or len(folder.folders) != 1:
        return name, folder
    ((below, only),) = folder.folders.items()
    return f"{name}/{below}", only
