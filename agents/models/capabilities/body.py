"""A request's body in the form that a server accepts, and the fields of a body that a server may
do without. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.models.capabilities.history import adapt_history
from agents.models.capabilities.record import Capabilities


def adapt(body: Mapping[str, Any], record: Capabilities) -> dict[str, Any]:
    """`body` as the record asks for it."""
    adapted = dict(body)
    for old, new in record.rename.items():
        if old in adapted:
            adapted.setdefault(new, adapted.pop(old))
    for path in record.drop:
        section, dot, name = path.partition(".")
        if not dot:
            adapted.pop(section, None)
        elif section in adapted:
            adapted[section] = without(adapted[section], name)
            if not adapted[section]:
                del adapted[section]
    adapted = adapt_history(adapted, record)
    most = record.max_output_tokens
    return adapted if most is None else limit_output(adapted, most)


def merge_patch(value: Any, patch: Any) -> Any:
    """`value` with the fields of `patch`; None removes a field, and objects are merged (RFC
    7396)."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(value) if isinstance(value, Mapping) else {}
    for name, item in patch.items():
        if item is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), item)
    return merged


def output_limit(body: Mapping[str, Any]) -> int | None:
    """The most output tokens that `body` asks for; None: it sets no limit."""
    limits = [value for name, value in _numbers(body) if plain(name) in OUTPUT_LIMITS]
    return max(limits, default=None)


def limit_output(body: Mapping[str, Any], most: int) -> dict[str, Any]:
    """`body` with at most `most` as its limit on output tokens."""
    return {name: _limited(name, value, most) for name, value in body.items()}


def _limited(name: str, value: Any, most: int) -> Any:
    if isinstance(value, dict):
        return {key: _limited(key, item, most) for key, item in value.items()}
    return min(value, most) if isinstance(value, int) and plain(name) in OUTPUT_LIMITS else value


def _numbers(body: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The numbers of the body and of the objects in it, by their names."""
    objects = [body, *(value for value in body.values() if isinstance(value, dict))]
    return [(k, v) for fields in objects for k, v in fields.items() if isinstance(v, int)]


NAMES_OF_USERS = frozenset({"properties", "$defs", "definitions", "patternProperties"})
"""The keys in these objects of a schema are names that a tool's author chose."""
DATA_OF_USERS = frozenset({"arguments", "args", "input", "response", "default", "enum", "const"})
"""Values with these names are data: the arguments of a call are not fields of the request."""
OUTPUT_LIMITS = frozenset({"maxtokens", "maxcompletiontokens", "maxoutputtokens", "numpredict"})
"""The names of the limit on output tokens in all wire formats, as `plain` writes them."""

_ESSENTIAL = frozenset(
    {
        *("model", "messages", "contents", "system", "systeminstruction", "tools", "options"),
        *("generationconfig", "role", "content", "parts", "text", "type", "id", "description"),
        *("name", "function", "arguments", "args", "input", "response", "source", "data", "url"),
        *("toolcalls", "toolcallid", "tooluseid", "toolname", "functioncall", "functionresponse"),
        *("functiondeclarations", "parameters", "parametersjsonschema", "inputschema", "mimetype"),
        *("mediatype", "inlinedata", "imageurl", "images", "thinking", "signature", "properties"),
        *("required", "items", "anyof", "oneof", "allof", "$ref", "$defs", "definitions", "enum"),
    }
)
"""Without one of these, a request has another meaning or none."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request that was sent."""

    name: str
    section: str = ""
    """The name of the body's field that contains this field; empty: the body itself does."""
    listed: bool = False
    """Whether the section is a list, of messages or tools."""

    @property
    def path(self) -> str:
        """The path of the field, in the form of `Capabilities.drop`."""
        return f"{self.section}.{self.name}" if self.section else self.name

    @property
    def is_output_limit(self) -> bool:
        """Whether it limits the output tokens."""
        return plain(self.name) in OUTPUT_LIMITS


def plain(name: str) -> str:
    """A field's name in one spelling: servers answer `max_output_tokens` to `maxOutputTokens`."""
    return re.sub(r"[^a-z0-9$]", "", name.lower())


def optional_fields(body: Mapping[str, Any]) -> Sequence[Field]:
    """The fields of `body` that a server may do without, each once. The fields of the body itself
    come first."""
    top = [Field(name) for name in body]
    nested = [
        Field(name, section, isinstance(value, list))
        for section, value in body.items()
        for name in _names(value)
    ]
    return [item for item in dict.fromkeys([*top, *nested]) if plain(item.name) not in _ESSENTIAL]


def without(value: Any, name: str, *, chosen: bool = False) -> Any:
    """`value` without the fields `name` at any depth, and without objects that this leaves empty.

    `a.b` is the field b within a field a. `chosen`: the keys of `value` are names that users
    chose.
    """
    if isinstance(value, list):
        return [without(entry, name) for entry in value]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, item in value.items():
        if key == name and not chosen:
            continue
        inner = item
        if name.startswith(f"{key}.") and not chosen:
            inner = without(item, name.removeprefix(f"{key}."))
        elif chosen or key not in DATA_OF_USERS:
            inner = without(item, name, chosen=not chosen and key in NAMES_OF_USERS)
        if inner or not item:
            result[key] = inner
    return result


def _names(value: Any, *, chosen: bool = False) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _names(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not chosen:
                yield key
            if chosen or key not in DATA_OF_USERS:
                yield from _names(item, chosen=not chosen and key in NAMES_OF_USERS)
