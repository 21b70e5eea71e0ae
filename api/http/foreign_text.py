"""Untrusted text, of a model, a program or a user, made safe to show. Pure."""

from __future__ import annotations

from typing import Any

from jobs.model.visibility import escape_character, escape_invisible


def visible(text: Any) -> str:
    """The text with control characters, invisible characters and direction marks escaped; '' for
    None. They could move a terminal's cursor, hide code, or reorder it on the screen."""
    plain = "" if text is None else str(text)
    return escape_invisible(plain.replace("\r\n", "\n"))


def visible_path(path: Any) -> str:
    """A path with every character escaped that `visible` escapes or that cannot be seen, such as
    wide and narrow spaces; '' for None. `agents.paths.visible` escapes these characters for
    models."""
    return "".join(
        character if character.isprintable() else escape_character(character)
        for character in visible(path)
    )


def first_line(text: str, width: int = 72) -> str:
    """The first line of safe text, cut to a width."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def signature(by: str, person: str | None) -> str:
    """The person of a key, and the key's name if it is another: `Ada Lovelace (key ada-laptop)`."""
    if not person or person == by:
        return visible(by)
    return f"{visible(person)} (key {visible(by)})"
