"""Two texts as a unified diff, and a diff as markup. Pure."""

from __future__ import annotations

from difflib import unified_diff
from itertools import islice

from markupsafe import Markup, escape

from api.http.foreign_text import visible

MOST = 4_000
"""Lines a side; longer texts are not compared."""
_KINDS = {"+": "added", "-": "removed", "@": "place"}


def compared(before: str, after: str) -> str | None:
    """The diff without a header; empty where no line differs. None: a side has more than `MOST`
    lines. It may take a second, so it must not run in the event loop."""
    old, new = before.split("\n"), after.split("\n")
    if max(len(old), len(new)) > MOST:
        return None
    return "\n".join(islice(unified_diff(old, new, lineterm=""), 2, None))


def unified(diff: str) -> Markup:
    """A unified diff, each line in a span with its kind as class. A carriage return is spelled out:
    it may be all that differs."""
    made = []
    for line in diff.rstrip("\n").split("\n"):
        head = line.startswith(("+++", "---"))
        kind = "place" if head else _KINDS.get(line[:1], "same")
        made.append(Markup('<span class="d-{}">{}</span>').format(kind, escape(visible(line))))
    return Markup("\n").join(made)
