"""Comments on lines: what they are about, and whether that is still there. Pure.

Two patches of one job start at the same commit. So a line of the commit is known by its number, and
an added line by its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobs.errors import NotShown
from jobs.model.review import Comment, Side
from jobs.view.patch import PatchFile, Row, read

AROUND = 3
"""Lines of the patch that are kept before and after the line."""
KEPT = 1_000
"""Characters of a line that are kept, and compared."""


def anchored(comment: Comment, files: Sequence[PatchFile]) -> Comment:
    """The comment with its excerpt. Raises NotShown."""
    file = _file(comment.path, files)
    if file is None:
        raise NotShown(f"the patch does not change {comment.path}")
    if not file.rows:
        raise NotShown(f"the patch shows no line of {comment.path}")
    place = next(
        (i for i, row in enumerate(file.rows) if _number(row, comment.side) == comment.line), None
    )
    if place is None:
        which = "before the change" if comment.side is Side.OLD else "after the change"
        raise NotShown(f"the patch does not show line {comment.line} of {comment.path} ({which})")
    before, after = file.rows[:place][::-1], file.rows[place + 1 :]
    above, below = _of_hunk(before)[::-1], _of_hunk(after)
    excerpt = tuple(row.text[:KEPT] for row in (*above, file.rows[place], *below))
    return replace(comment, excerpt=excerpt, at=len(above), base=file.rows[place].old)


def marked(decisions: Iterable[Mapping[str, Any]], patch: bytes | None) -> list[dict[str, Any]]:
    """The decisions of a review's payload, whose comments have `outdated`: whether their line is
    no longer as it was, in this patch; and `now`: its number on the comment's side, None where
    the patch does not show it. `patch` is None where nothing is changed any more."""
    files = read(patch) if patch is not None else []
    return [
        {**each, "comments": [{**one, **_stands(one, files)} for one in each.get("comments", ())]}
        for each in decisions
    ]


def _stands(comment: Mapping[str, Any], files: Sequence[PatchFile]) -> dict[str, Any]:
    file = _file(comment["path"], files)
    if file is None:
        return {"outdated": True, "now": None}
    row = _same(comment, file.rows)
    text = comment["excerpt"][comment["at"]]
    if row is None:  # a line of the commit, which the patch neither removes nor shows
        return {"outdated": not text.startswith(" "), "now": None}
    if row.text[:KEPT] != text:
        return {"outdated": True, "now": None}
    return {"outdated": False, "now": _number(row, Side(comment["side"]))}


def _same(comment: Mapping[str, Any], rows: Sequence[Row]) -> Row | None:
    """The row of the line: of a line of the commit the one with its number, of an added one the
    nearest with its text."""
    if comment["base"] is not None:
        return next((row for row in rows if row.old == comment["base"]), None)
    text = comment["excerpt"][comment["at"]]
    same = (row for row in rows if row.kind == "added" and row.text[:KEPT] == text)
    return min(same, key=lambda row: abs((row.new or 0) - comment["line"]), default=None)


def _file(path: str, files: Sequence[PatchFile]) -> PatchFile | None:
    return next((file for file in files if file.path == path), None)


def _number(row: Row, side: Side) -> int | None:
    return row.old if side is Side.OLD else row.new


def _of_hunk(rows: Sequence[Row]) -> list[Row]:
    """The first `AROUND` rows, to the end of the hunk."""
    near: list[Row] = []
    for row in rows[:AROUND]:
        if row.kind == "place":
            break
        near.append(row)
    return near
