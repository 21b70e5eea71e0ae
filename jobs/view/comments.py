"""Comments on lines: their excerpt, and whether their line is unchanged. Pure.

All patches of a job apply to the same commit, or the same files at its start. So a line of these is
identified by its number, and an added line by its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobs.errors import NotShown
from jobs.model.review import Comment, Side
from jobs.view.patch import HUNK_HEADER, PatchFile, Row

CONTEXT_LINES = 3
"""The lines of an excerpt before and after the commented line."""
MAX_LINE_LENGTH = 1_000
"""The characters of a line that an excerpt keeps, and that are compared."""


def add_excerpt(comment: Comment, files: Sequence[PatchFile]) -> Comment:
    """The comment with its excerpt. Raises NotShown."""
    file = _find_file(comment.path, files)
    if file is None:
        raise NotShown(f"the patch does not change {comment.path}")
    if not file.rows:
        raise NotShown(f"the patch shows no line of {comment.path}")
    position = next(
        (i for i, row in enumerate(file.rows) if _number(row, comment.side) == comment.line), None
    )
    if position is None:
        version = "before the change" if comment.side is Side.OLD else "after the change"
        raise NotShown(f"the patch does not show line {comment.line} of {comment.path} ({version})")
    before, after = file.rows[:position][::-1], file.rows[position + 1 :]
    above, below = _context_rows(before)[::-1], _context_rows(after)
    excerpt = tuple(row.text[:MAX_LINE_LENGTH] for row in (*above, file.rows[position], *below))
    return replace(comment, excerpt=excerpt, at=len(above), base=file.rows[position].old)


def mark_outdated(
    decisions: Iterable[Mapping[str, Any]], files: Sequence[PatchFile]
) -> list[dict[str, Any]]:
    """The decisions of a review's payload, with two fields for each comment: `outdated` (the line
    has changed in the patch of these `files`) and `now` (its present number on the comment's side;
    None: the patch does not show it)."""
    return [
        {
            **decision,
            "comments": [
                {**comment, **_position_now(comment, files)}
                for comment in decision.get("comments", ())
            ],
        }
        for decision in decisions
    ]


def _position_now(comment: Mapping[str, Any], files: Sequence[PatchFile]) -> dict[str, Any]:
    file = _find_file(comment["path"], files)
    if file is None:
        return {"outdated": True, "now": None}
    row = _find_row(comment, file.rows)
    text = comment["excerpt"][comment["at"]]
    if row is None:  # a line of the commit, which the patch neither removes nor shows
        return {"outdated": not text.startswith(" "), "now": None}
    if row.text[:MAX_LINE_LENGTH] != text:
        return {"outdated": True, "now": None}
    return {"outdated": False, "now": _number(row, Side(comment["side"]))}


def _find_row(comment: Mapping[str, Any], rows: Sequence[Row]) -> Row | None:
    """The row of the commented line: by number if the commit has the line; else the nearest added
    line with the same text."""
    if comment["base"] is not None:
        return next((row for row in rows if row.old == comment["base"]), None)
    text = comment["excerpt"][comment["at"]]
    candidates = (row for row in rows if row.kind == "added" and row.text[:MAX_LINE_LENGTH] == text)
    return min(candidates, key=lambda row: abs((row.new or 0) - comment["line"]), default=None)


def _find_file(path: str, files: Sequence[PatchFile]) -> PatchFile | None:
    return next((file for file in files if file.path == path), None)


def _number(row: Row, side: Side) -> int | None:
    return row.old if side is Side.OLD else row.new


def _context_rows(rows: Sequence[Row]) -> list[Row]:
    """The first rows, at most `CONTEXT_LINES` and up to the end of the hunk."""
    context: list[Row] = []
    for row in rows[:CONTEXT_LINES]:
        if row.kind == HUNK_HEADER:
            break
        context.append(row)
    return context
