"""What a refusal says of the server: the next form of the request. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.models.capabilities.adapt import output_limit
from agents.models.capabilities.complaints import Complaint, complaints
from agents.models.capabilities.fields import Field, optional_fields, plain
from agents.models.capabilities.limits import is_about_output, read_limits
from agents.models.capabilities.record import Capabilities
from agents.models.capabilities.wording import (
    is_refusal,
    mentions,
    mentions_forcing,
    refuses,
    refuses_value,
)
from agents.models.errors import ContextExceeded, ModelRefused

REFUSED = frozenset({400, 404, 422})
"""The statuses of a refused form. OpenRouter answers 404 if no provider accepts a field."""
FORCING = frozenset({"toolchoice", "toolconfig"})
"""The fields that force a tool, as `plain` writes them."""
_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The two names of OpenAI's protocol for the limit on output tokens."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """`record` counts for all requests of the model. `room` is a limit on output tokens for this
    request only, because it follows from the length of the request."""

    record: Capabilities
    room: int | None = None


def learn(refusal: ModelRefused, sent: Mapping[str, Any], record: Capabilities) -> Lesson:
    """What `refusal` says of the body that was sent; a lesson with the same record and no room if
    it says nothing of it."""
    if refusal.status not in REFUSED:
        return Lesson(record)
    found = complaints(refusal)
    limited = _limited(refusal, found, sent, record)
    if limited != Lesson(record) or isinstance(refusal, ContextExceeded):
        return limited
    for field in _refused(found, sent):
        record = _without(field, record)
    return Lesson(record)


def _limited(
    refusal: ModelRefused, found: Sequence[Complaint], sent: Mapping[str, Any], record: Capabilities
) -> Lesson:
    """The limits that the refusal names."""
    asked = output_limit(sent)
    if asked is None:
        return Lesson(record)
    too_long = isinstance(refusal, ContextExceeded)
    for each in found:
        if not (too_long or is_about_output(" ".join((*each.path, each.sentence)))):
            continue
        limits = read_limits(each.sentence, asked)
        if limits.context is not None:
            return Lesson(record.changed(context_tokens=limits.context), limits.room)
        if limits.output is not None:
            return Lesson(record.changed(max_output_tokens=limits.output))
    return Lesson(record)


def _refused(found: Sequence[Complaint], sent: Mapping[str, Any]) -> Sequence[Field]:
    """The fields that the refusal names."""
    fields = optional_fields(sent)
    refused = [field for each in found for field in _of_complaint(each, fields, sent)]
    if not refused and any(mentions_forcing(each.sentence) for each in found):
        refused = [field for field in fields if plain(field.name) in FORCING]
    return list(dict.fromkeys(_whole(field, fields) for field in refused))


def _of_complaint(
    complaint: Complaint, fields: Sequence[Field], sent: Mapping[str, Any]
) -> Iterator[Field]:
    sentence = complaint.sentence
    if complaint.path:
        field = _at(complaint.path, fields, sent)
        if field is not None and (is_refusal(sentence) or not field.is_output_limit):
            yield field
        return
    named = [field for field in fields if _refuses(sentence, field)]
    # `temperature and top_p cannot both be specified`
    yield from _in_their_section(sentence, named[-1:] if "both" in sentence else named)


def _refuses(sentence: str, field: Field) -> bool:
    if refuses(sentence, field):
        return True
    return not field.is_output_limit and refuses_value(sentence, field)


def _in_their_section(sentence: str, named: Sequence[Field]) -> Iterator[Field]:
    """Of fields with the same name, those in a section that the sentence names, or else the first:
    fields of the body itself come first."""
    for field in named:
        same = [each for each in named if plain(each.name) == plain(field.name)]
        placed = [each for each in same if each.section and mentions(sentence, each.section)]
        if field in (placed or same[:1]):
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


def _whole(field: Field, fields: Sequence[Field]) -> Field:
    """A part of the field that forces a tool stands for that field."""
    if plain(field.section) not in FORCING:
        return field
    return next(each for each in fields if each.path == field.section)


def _without(field: Field, record: Capabilities) -> Capabilities:
    """The next form: another name for the limit on output tokens, or a request without the
    field."""
    other = _OTHER_NAME.get(field.path)
    if other is None or field.path in record.rename.values():
        return record.changed(drop=record.drop | {field.path})
    return record.changed(rename={**record.rename, field.path: other})
