"""Comments on lines of a patch as text: `PATH:LINE: TEXT`, or `PATH:-LINE: TEXT` for a line by its
number before the change. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from jobs.model.review import Side

_COMMENT = re.compile(r"(?P<path>\S.*?):(?P<old>-?)(?P<line>[1-9]\d{0,8}):(?P<text>.*)", re.DOTALL)


def parse(text: str) -> dict[str, Any] | None:
    """The comment in the form of a request; None if the text is not a comment."""
    match = _COMMENT.fullmatch(text.strip())
    if match is None or not match["text"].strip():
        return None
    side = Side.OLD if match["old"] else Side.NEW
    return {
        "path": match["path"],
        "line": int(match["line"]),
        "side": str(side),
        "text": match["text"].strip(),
    }


def split(text: str) -> list[str]:
    """The written comments of a text, one a line. A line that begins with a space continues the
    comment before it."""
    comments: list[str] = []
    for line in text.split("\n"):
        if comments and line[:1].isspace():
            comments[-1] += "\n" + line.removeprefix(" ").removeprefix(" ").rstrip("\r")
        elif line.strip():
            comments.append(line.strip())
    return comments


def location(comment: Mapping[str, Any]) -> str:
    """`PATH:LINE` or `PATH:-LINE`."""
    sign = "-" if comment["side"] == Side.OLD else ""
    return f"{comment['path']}:{sign}{comment['line']}"


def write_comment(comment: Mapping[str, Any]) -> str:
    """A comment as text."""
    return f"{location(comment)}: {comment['text']}"


def write_comments(comments: Iterable[Mapping[str, Any]] | None) -> str | None:
    """All comments as one text, a line each; None if the comments are unknown."""
    return None if comments is None else "\n".join(map(write_comment, comments))
