"""Reads the complaints in a refusal: sentences, and the fields that they are about. Pure.

There is no common shape. OpenAI sends `param`, FastAPI and Mistral a list of `loc` and `msg`, vLLM
such a list or Pydantic's error as a text, OpenRouter the provider's own body as JSON within a text,
other validators an object with the names of fields as keys, and the others a sentence only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.errors import ModelRefused
from agents.models.error_mapping.error_body import json_at

_MOST_DEPTH = 8
_MOST_ITEMS = 50
"""The most items that are read of a list, and the most complaints of a refusal."""
_MOST_CHARACTERS = 20_000
"""The most characters that are read of a text, which may hold an object or a list."""
_READ_CHARACTERS = 4_000
"""The rest of a sentence is not read: it may be a copy of the request."""
_SENTENCES = ("message", "msg", "detail", "error", "errors", "description", "details", "reason")
_RAW = "raw"
"""Where OpenRouter puts the body of the provider behind it."""
_LOCATIONS = (
    "loc",
    "param",
    "path",
    "field",
    "instancePath",
    "pointer",
    "additionalProperty",
    "name",
)
"""The names for the place of a fault: of pydantic, OpenAI, Zod, Google, Ajv (two), JSON:API, and
RFC 9457."""
_COPIES = frozenset({"input", "ctx", "request", "body"})
"""They repeat the request."""
_LOCATED = re.compile(
    r"""['"]loc['"]: ?[(\[]([^)\]]{0,200})[)\]], ?['"]msg['"]: ?['"]([^'"]{0,400})"""
)
_VALIDATED = re.compile(r"^(\w[\w.]{0,200})\n +(\S[^\n]{0,400})", re.MULTILINE)
"""A complaint in the text of Pydantic's error: a path, and below it a sentence."""
_STEP = re.compile(r"[^\s.\[\]()'\",/#]+")


@dataclass(frozen=True, slots=True)
class Complaint:
    """One sentence of a refusal. `path` is the field that it is about, outermost name first, if
    the server names it outside of the sentence."""

    sentence: str
    path: tuple[str, ...] = ()


def complaints(refusal: ModelRefused) -> list[Complaint]:
    """All complaints of a refusal, without repetitions."""
    items = [*_read(refusal.details, 0)] or [*_read(str(refusal), 0)]
    return list(dict.fromkeys(items))[:_MOST_ITEMS]


def _read(value: Any, depth: int) -> Iterator[Complaint]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, str):
        yield from _of_text(value, depth)
    elif isinstance(value, list):
        for item in value[:_MOST_ITEMS]:
            yield from _read(item, depth + 1)
    elif isinstance(value, Mapping):
        yield from _of_object(value, depth)


def _of_object(value: Mapping[str, Any], depth: int) -> Iterator[Complaint]:
    location = next(filter(None, map(value.get, _LOCATIONS)), None)
    if isinstance(location, str) and " " in location:  # a sentence in place of a name
        yield Complaint(location[:_READ_CHARACTERS])
    elif location and location not in ("None", "null"):
        sentence = str(next(filter(None, map(value.get, _SENTENCES)), ""))
        yield Complaint(f"{sentence} {value.get('type', '')}"[:_READ_CHARACTERS], _path(location))
        if value.get("loc"):
            return
    for name, item in value.items():
        if name in (*_SENTENCES, _RAW):
            yield from _read(item, depth + 1)
        elif name not in _COPIES:
            yield from _of_other(name, item, depth)


def _of_other(name: str, value: Any, depth: int) -> Iterator[Complaint]:
    """The complaints in a value that has another name. The name of a list of texts is a field."""
    items = value[:_MOST_ITEMS] if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, Mapping):
            yield from _read(item, depth + 1)
        elif isinstance(item, str) and isinstance(value, list):
            yield Complaint(item[:_READ_CHARACTERS], _path(name))


def _of_text(text: str, depth: int) -> Iterator[Complaint]:
    """The complaints in a text, which may be JSON, or Python's text of a list of complaints."""
    text = text[:_MOST_CHARACTERS]
    start = text.find("{")
    if start >= 0 and (inner := json_at(text, start)) is not None:
        text = text[:start]
        yield from _read(inner, depth + 1)
    located = _LOCATED.findall(text)
    if "validation error" in text:
        located += _VALIDATED.findall(text)
    for location, sentence in located:
        yield Complaint(sentence, _path(location))
    if not located and text.strip():
        yield Complaint(text[:_READ_CHARACTERS])


def _path(location: Any) -> tuple[str, ...]:
    """`messages[2].content`, or a list, as names without indexes."""
    steps = (
        location if isinstance(location, list) else _STEP.findall(str(location)[:_READ_CHARACTERS])
    )
    names = [str(step) for step in steps if not str(step).isdigit()]
    return tuple(names[1:] if names[:1] == ["body"] else names)
