"""A spend and foreign text as a terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from api.http.foreign_text import visible
from api.quantities import plural, spent

SOON_SECONDS = 120
_LANGUAGES = {".py": "python", ".sh": "bash", ".json": "json", ".toml": "toml", ".sql": "sql"}


def printable(text: str) -> str:
    """Foreign text with its hidden signs spelled out; tabs become spaces."""
    return visible(text).expandtabs(4)


def clip(text: str, lines: int | None) -> str:
    """The first and the last lines of the text, together `lines` lines, and the number of omitted
    lines."""
    all_lines = text.rstrip("\n").split("\n")
    if lines is None or len(all_lines) <= lines:
        return "\n".join(all_lines)
    head = (lines + 1) // 2
    tail = lines - head
    gap = f"... {len(all_lines) - lines} more lines ..."
    return "\n".join([*all_lines[:head], gap, *all_lines[len(all_lines) - tail :]])


def language_of(path: str) -> str:
    """The language of a file, as pygments names it."""
    return _LANGUAGES.get(PurePosixPath(path).suffix, "text")


def patch_text(patch: Mapping[str, Any]) -> str:
    """`3 files, +10 -2 lines`."""
    return f"{plural(patch['files'], 'file')}, +{patch['insertions']} -{patch['deletions']} lines"


def waits_text(waits: Mapping[str, Any], now: datetime | None = None) -> str:
    """`waits for groq until 12:03`, in local time; with seconds if it is soon, with the date if it
    is another day."""
    now = now or datetime.now(UTC)
    until = datetime.fromisoformat(waits["until"]).astimezone()
    far = until.date() != now.astimezone().date()
    soon = (until - now).total_seconds() < SOON_SECONDS
    time = until.strftime("%Y-%m-%d %H:%M" if far else "%H:%M:%S" if soon else "%H:%M")
    return f"waits for {printable(waits['on'])} until {time}"


def spend(total: Mapping[str, Any]) -> str:
    """A spend in one line: calls, tokens, money."""
    tokens = f"{total['input_tokens'] + total['output_tokens']:,} tokens"
    if cached := total.get("cached_input_tokens"):
        tokens += f" ({cached:,} out of the cache)"
    return ", ".join((plural(total["calls"], "model call"), tokens, spent(total)))
