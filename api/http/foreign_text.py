"""Untrusted text, of a model, a program or a user, made safe to show. Pure."""

from __future__ import annotations

import re
from typing import Any

_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u3164\ufeff\uffa0\U000e0000-\U000e007f]"
)


def visible(text: Any) -> str:
    """The text with control characters, invisible characters and direction marks escaped; '' for
    None. They could move a terminal's cursor, hide code, or reorder it on the screen."""
    plain = "" if text is None else str(text)
    return _HIDDEN.sub(_escape_match, plain.replace("\r\n", "\n"))


def visible_path(path: Any) -> str:
    """A path with every character escaped that `visible` escapes or that cannot be seen, such as
    wide and narrow spaces; '' for None. `agents.paths.visible` escapes these characters for
    models."""
    return "".join(
        character if character.isprintable() else _escape(character) for character in visible(path)
    )


def first_line(text: str, width: int = 72) -> str:
    """The first line of safe text, cut to a width."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def _escape_match(match: re.Match[str]) -> str:
    return _escape(match.group())


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def signature(by: str, person: str | None) -> str:
    """The person of a key, and the key's name if it is another: `Ada Lovelace (key ada-laptop)`."""
    if not person or person == by:
        return visible(by)
    return f"{visible(person)} (key {visible(by)})"
