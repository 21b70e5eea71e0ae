"""Two texts as a unified diff, which another process makes, and a diff as markup."""

from __future__ import annotations

from functools import cache

from markupsafe import Markup, escape

from api.http.foreign_text import visible
from api.pages.format.text_process import TextProcess

MOST = 4_000
"""Lines a side; longer texts are not compared."""
SECONDS = 5.0
"""How long a comparison may take. Lines that repeat need the cube of the time for twice as many."""
_KINDS = {"+": "added", "-": "removed", "@": "place"}


def compared(before: str, after: str) -> str | None:
    """The diff without a header; empty if no line differs. None: a side has more than `MOST` lines,
    or it takes more than `SECONDS`. It must not run in the event loop."""
    old, new = before.split("\n"), after.split("\n")
    if max(len(old), len(new)) > MOST:
        return None
    diff: list[str] | None = _process().ask({"before": old, "after": new}, SECONDS)
    return None if diff is None else "\n".join(diff)


@cache
def _process() -> TextProcess:
    return TextProcess()


def unified(diff: str) -> Markup:
    """A unified diff, each line in a span with its kind as class. A carriage return is spelled out:
    it may be all that differs."""
    made = []
    for line in diff.rstrip("\n").split("\n"):
        head = line.startswith(("+++", "---"))
        kind = "place" if head else _KINDS.get(line[:1], "same")
        made.append(Markup('<span class="d-{}">{}</span>').format(kind, escape(visible(line))))
    return Markup("\n").join(made)
