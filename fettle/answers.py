"""Answers of the service as values: every field that a command reads is present, and has its type.

The address may lead to another service, or to another release of Fettle. So an object is compared
with the API's schema when it arrives: a value of another type is refused. Fields and values that
the schema does not know are accepted, because a newer service may send them. A field that is
missing is refused when a command reads it, because an older service may lack fields that no command
needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from fettle.errors import NotFettle

Value = TypeVar("Value")
# Pydantic's errors that are not about the type of a value.
_MISSING = frozenset({"missing", "union_tag_not_found", "union_tag_invalid"})
_UNKNOWN = frozenset({"enum", "literal_error"})


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """The origin of an answer: the service's address, and the call."""

    url: str
    method: str
    path: str

    def unexpected(self, text: str) -> NotFettle:
        """The error for an answer that Fettle would not send; `text` describes the fault."""
        return NotFettle(self.url, f"its answer to {self.method} {self.path} {text}")


class Fields(dict[str, Any]):
    """A JSON object of an answer. Reading a field that it lacks raises NotFettle.

    `dataclasses.asdict` copies a mapping by its type: such a copy has no source.
    """

    source: AnswerSource | None = None

    def __missing__(self, name: str) -> NoReturn:
        if self.source is None:
            raise KeyError(name)
        raise self.source.unexpected(f"has no field `{name}`")


def _from(source: AnswerSource, content: dict[str, Any]) -> Fields:
    fields = Fields(content)
    fields.source = source
    return fields


def parse_object(
    source: AnswerSource, text: str, model: type[BaseModel] | TypeAdapter[Any]
) -> Fields:
    """The JSON object that a text holds, compared with its schema. Raises NotFettle."""
    validate = model.validate_json if isinstance(model, TypeAdapter) else model.model_validate_json
    try:
        content = json.loads(text, object_hook=partial(_from, source))
    except (ValueError, RecursionError):
        raise source.unexpected("is not JSON") from None
    if not isinstance(content, Fields):
        raise source.unexpected("is not a JSON object")
    try:
        validate(text, strict=True)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            is_word = detail["type"] in _UNKNOWN and isinstance(detail["input"], str)
            if detail["type"] not in _MISSING and not is_word:
                field = ".".join(map(str, detail["loc"]))
                raise source.unexpected(f"has a wrong field `{field}`: {detail['msg']}") from None
    return content


def convert(
    source: AnswerSource, read: Callable[[Mapping[str, Any]], Value], content: Mapping[str, Any]
) -> Value:
    """An object of an answer as a value of `fettle.types`. Raises NotFettle if it lacks a field."""
    try:
        return read(content)
    except ValidationError as error:
        field = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
        raise source.unexpected(f"has no field `{field}` that this release can read") from None
