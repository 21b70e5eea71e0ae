"""The lesson of a refusal: the next form of the request. Pure.

A refusal is read as complaints, which are sentences and the fields that they are about. There is no
common shape. OpenAI sends `param`, FastAPI and Mistral a list of `loc` and `msg`, vLLM such a list
or Pydantic's error as a text, OpenRouter the provider's own body as JSON within a text, other
validators an object with the names of fields as keys, and the others only a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.errors import ContextExceeded, ErrorKind, ModelRefused
from agents.models.capabilities.body import Field, optional_fields, output_limit, plain
from agents.models.capabilities.history import (
    learn_history,
    learn_opposite,
    without_field,
)
from agents.models.capabilities.record import Capabilities
from agents.models.capabilities.wordings import (
    is_about_output,
    is_refusal,
    mentions,
    mentions_forcing,
    names,
    read_limits,
    refuses,
    refuses_value,
)
from agents.models.error_mapping.error_body import json_at

REFUSED = frozenset({400, 404, 422, 424})
"""The statuses of a refused form. OpenRouter answers 404 if no provider accepts a field. Azure's
machine learning answers 424 if the server behind it answers 400."""
TOO_LARGE = 413
"""Groq's status of a request that has more tokens, with its limit on output, than the account has
in a minute."""
_NOT_ABOUT_FORM = frozenset(
    {ErrorKind.POLICY, ErrorKind.CREDIT, ErrorKind.ACCOUNT, ErrorKind.KEY, ErrorKind.ACCESS}
)
FORCING = frozenset({"toolchoice", "toolconfig"})
"""The fields that force a tool, as `plain` writes them."""
_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The two names of OpenAI's protocol for the limit on output tokens."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """The lesson of one refusal."""

    record: Capabilities
    """Counts for all requests of the model."""
    remaining: int | None = None
    """The limit on the output tokens of this request only: its input uses the rest of the
    context."""
    context: int | None = None
    """The model's context in tokens, if the server names it."""


def learn(refusal: ModelRefused, sent: Mapping[str, Any], record: Capabilities) -> Lesson:
    """The lesson of a refusal of the body that was sent. It has the same record and no limit if the
    refusal does not name the fault of the body."""
    if refusal.status not in {*REFUSED, TOO_LARGE} or refusal.kind in _NOT_ABOUT_FORM:
        return Lesson(record)
    items = complaints(refusal)
    limited = _limited(refusal, items, sent, record)
    if limited != Lesson(record) or isinstance(refusal, ContextExceeded):
        return limited
    if refusal.status == TOO_LARGE:
        return Lesson(record)
    completed = record
    for item in items:
        completed = learn_history(f"{'.'.join(item.path)} {item.sentence}", sent, completed)
    if completed != record:
        return Lesson(completed)
    refused = _refused(items, sent)
    for field in refused:
        record = _without(field, record)
    if not refused:
        for item in items:
            record = learn_opposite(item.sentence, sent, record)
    return Lesson(record)


def _limited(
    refusal: ModelRefused, items: Sequence[Complaint], sent: Mapping[str, Any], record: Capabilities
) -> Lesson:
    """The limits that the refusal names."""
    sent_limit = output_limit(sent)
    if sent_limit is None:
        return Lesson(record)
    for item in items:
        about_output = is_about_output(" ".join((*item.path, item.sentence)))
        if not (about_output or isinstance(refusal, ContextExceeded)):
            continue
        limits = read_limits(item.sentence, sent_limit)
        if limits.context is not None:
            return Lesson(record, limits.remaining, limits.context)
        if limits.output is not None and about_output:
            return Lesson(record.changed(max_output_tokens=limits.output))
    return Lesson(record)


def _refused(items: Sequence[Complaint], sent: Mapping[str, Any]) -> Sequence[Field]:
    """The fields that the refusal names."""
    fields = optional_fields(sent)
    refused = [field for complaint in items for field in _of_complaint(complaint, fields, sent)]
    if not refused and any(mentions_forcing(complaint.sentence) for complaint in items):
        refused = [field for field in fields if plain(field.name) in FORCING]
    if not refused:
        refused = [
            field for complaint in items for field in fields if names(complaint.sentence, field)
        ][:1]
    return list(dict.fromkeys(_field_to_drop(field, fields) for field in refused))


def _of_complaint(
    complaint: Complaint, fields: Sequence[Field], sent: Mapping[str, Any]
) -> Iterator[Field]:
    sentence = complaint.sentence
    if complaint.path:
        field = _at(complaint.path, fields, sent)
        if field is not None and (is_refusal(sentence) or not field.is_output_limit):
            yield field
        return
    matches = [field for field in fields if _refuses(sentence, field)]
    # `temperature and top_p cannot both be specified`
    yield from _in_their_section(sentence, matches[-1:] if "both" in sentence else matches)


def _refuses(sentence: str, field: Field) -> bool:
    if refuses(sentence, field):
        return True
    return not field.is_output_limit and refuses_value(sentence, field)


def _in_their_section(sentence: str, matches: Sequence[Field]) -> Iterator[Field]:
    """Several fields may have the same name: then yield those in a section that the sentence names,
    or else the first. Fields of the body itself come first."""
    for field in matches:
        same = [match for match in matches if plain(match.name) == plain(field.name)]
        located = [match for match in same if match.section and mentions(sentence, match.section)]
        if field in (located or same[:1]):
            yield field


def _at(path: Sequence[str], fields: Sequence[Field], sent: Mapping[str, Any]) -> Field | None:
    """The innermost field of a path that the server may do without."""
    section = next((key for key in sent if plain(key) == plain(path[0])), None)
    for step in reversed(path):
        for field in fields:
            inside = section is None or section in (field.section, field.path)
            if inside and plain(field.name) == plain(step):
                return field
    return None


def _field_to_drop(field: Field, fields: Sequence[Field]) -> Field:
    """The field itself, but all of `tool_choice` for a part of it."""
    if plain(field.section) not in FORCING:
        return field
    return next(parent for parent in fields if parent.path == field.section)


def _without(field: Field, record: Capabilities) -> Capabilities:
    """The next form: another name for the limit on output tokens, or a request without the
    field."""
    other_name = _OTHER_NAME.get(field.path)
    if other_name is None or field.path in record.rename.values():
        return without_field(record, field.path)
    return record.changed(rename={**record.rename, field.path: other_name})


_MOST_DEPTH = 8
_MOST_ITEMS = 50
"""The most items that are read of a list, and the most complaints of a refusal."""
_MOST_CHARACTERS = 20_000
"""The most characters that are read of a text, which may hold an object or a list."""
_READ_CHARACTERS = 4_000
"""The rest of a sentence is not read: it may be a copy of the request."""
_SENTENCES = ("message", "msg", "detail", "error", "errors", "description", "details", "reason")
_RAW = "raw"
"""The key under which OpenRouter puts the body of the provider behind it."""
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
    """One sentence of a refusal."""

    sentence: str
    path: tuple[str, ...] = ()
    """The field of the complaint, outermost name first, if the server names it outside of the
    sentence."""


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
