"""Comments on lines of a patch as text: `PATH:LINE: TEXT`, or `PATH:-LINE: TEXT` for a line as
it was before the change. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from jobs.model.review import Side

_WRITTEN = re.compile(r"(?P<path>\S.*?):(?P<old>-?)(?P<line>[1-9]\d{0,8}):(?P<text>.*)", re.DOTALL)


def parsed(text: str) -> dict[str, Any] | None:
    """A written comment as a request has it; None where the text is none."""
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
