"""Comments on lines of a patch, as JSON and as text: `PATH:LINE: TEXT`, or `PATH:-LINE: TEXT` for
a line as it was before the change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from api.schemas import patterns
from api.schemas.wire import RequestModel, ResponseModel
from jobs.model.review import Side

MOST_CHARACTERS = 2_000
"""Of a comment's text."""
_WRITTEN = re.compile(r"(?P<path>\S.*?):(?P<old>-?)(?P<line>[1-9]\d{0,8}):(?P<text>.*)", re.DOTALL)


class SentComment(RequestModel):
    """A comment on a line of the patch."""

    path: str = Field(min_length=1, max_length=4_096, description="the file, as the patch names it")
    line: int = Field(ge=1, le=999_999_999)
    side: Side = Field(
        Side.NEW, description="which number `line` is: after the change, or before it (`old`)"
    )
    text: str = Field(pattern=patterns.SOME_TEXT, max_length=MOST_CHARACTERS)


class LineComment(ResponseModel):
    """A comment on a line of the patch; `outdated` and `now` only in the payload of a later
    review."""

    path: str
    line: int
    side: Side
    text: str
    excerpt: list[str] = Field(description="the lines of the patch around it, with their signs")
    at: int = Field(description="the line's place in `excerpt`, from 0")
    base: int | None = Field(description="its number before the change; null of an added line")


def parsed(text: str) -> dict[str, Any] | None:
    """A SentComment's values of one written comment; None where the text is none."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is None or not found["text"].strip():
        return None
    side = Side.OLD if found["old"] else Side.NEW
    line, words = int(found["line"]), found["text"].strip()
    return {"path": found["path"], "line": line, "side": str(side), "text": words}


def split(text: str) -> list[str]:
    """The written comments of a text, one a line; a line that begins with a space goes on with the
    comment before it."""
    found: list[str] = []
    for line in text.split("\n"):
        if found and line[:1].isspace():
            found[-1] += f"\n{line.strip()}"
        elif line.strip():
            found.append(line.strip())
    return found


def place(comment: Mapping[str, Any]) -> str:
    """`PATH:LINE` or `PATH:-LINE`."""
    sign = "-" if comment["side"] == Side.OLD else ""
    return f"{comment['path']}:{sign}{comment['line']}"


def written(comment: Mapping[str, Any]) -> str:
    """A comment as text."""
    return f"{place(comment)}: {comment['text']}"


def all_written(comments: Iterable[Mapping[str, Any]] | None) -> str | None:
    """All comments as one text, a line each; None where it is not known of any."""
    return None if comments is None else "\n".join(map(written, comments))
