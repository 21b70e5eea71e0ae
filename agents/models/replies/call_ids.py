"""Ids and names of tool calls that every provider accepts. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_NAME_LENGTH = 64
_ID_LENGTH = 9


def unique_ids(ids: Iterable[str | None]) -> list[str]:
    """The ids of one reply's calls. A missing or repeated id is derived from the call's index, so
    that a reply always gets the same ids."""
    unique: list[str] = []
    for index, call_id in enumerate(ids):
        name = call_id or f"call_{index}"
        while name in unique:
            name = f"{name}_{index}"
        unique.append(name)
    return unique


def short_id(name: str, used: Container[str]) -> str:
    """An id of nine letters and digits in place of `name`, that is not `used`.

    Mistral accepts no other form; OpenAI accepts at most 40 characters; Anthropic and Bedrock
    letters, digits, `_` and `-`. The same arguments give the same id, so that the provider's cache
    of the request stays valid.
    """
    number = 0
    while True:
        written = f"{name}/{number}" if number else name
        short = hashlib.sha256(written.encode(errors="replace")).hexdigest()[:_ID_LENGTH]
        if short not in used:
            return short
        number += 1


def valid_name(name: str) -> str:
    """A tool's name with at most 64 letters, digits, `_` and `-`, that begins with no digit or `-`:
    OpenAI, Anthropic and Gemini refuse a history with any other name.

    Some models call `multi_tool_use.parallel`, or a tool without a name.
    """
    valid = _NOT_IN_A_NAME.sub("_", name)[:_NAME_LENGTH]
    if not valid.strip("_-"):
        return "unnamed"
    return valid if valid[0].isalpha() or valid[0] == "_" else f"_{valid}"[:_NAME_LENGTH]
