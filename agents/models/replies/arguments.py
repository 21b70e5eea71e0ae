"""Arguments of tool calls by their schema, and schemas as most servers accept them. Pure.

Models and servers write arguments that have a clear meaning and another form than the schema asks
for: numbers and arrays as text, null for an argument that is left out, an object that is encoded
twice. Such arguments are converted by the schema. All others stay unchanged, and the check of the
arguments reports them to the model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agents.models.replies.ending import MALFORMED

Schema = Mapping[str, Any]

WRAPPED = "all_arguments"
"""The only argument of a call that a client must not change: an object with all of them."""
_NESTED = 3
"""How often a value may be encoded as text."""
_NAMES_OF_NOTHING = frozenset({"", "null", "none"})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_IS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and value == int(value),
    "number": _is_number,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
"""Whether a value has a type of JSON schema."""


def as_object(arguments: Any) -> dict[str, Any]:
    """The arguments of a call as an object, from any JSON value or its text.

    No arguments are an empty object. Arguments that are no object are their text, under the one
    name `MALFORMED`.
    """
    value = _decoded(arguments)
    if isinstance(value, list) and len(value) == 1:
        value = _decoded(value[0])
    if value is None or value == [] or (isinstance(value, str) and not value.strip()):
        return {}
    if isinstance(value, dict):
        return value
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {MALFORMED: text}


def unwrapped(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call as its client returns them."""
    inner: dict[str, Any] = arguments[WRAPPED] if arguments.keys() == {WRAPPED} else arguments
    return inner


def as_meant(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The arguments of a tool in the types of its `schema`, as far as their meaning is clear.

    A null for an argument that is not required is left out, so that the default applies.
    """
    properties = schema.get("properties") or {}
    if len(arguments) == 1:  # the arguments themselves, under a name that the tool does not have
        ((name, value),) = arguments.items()
        inner = _decoded(value)
        if name not in properties and isinstance(inner, dict) and inner.keys() <= properties.keys():
            arguments = inner
    return _object(arguments, schema)


def _object(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    return {
        name: _value(argument, properties.get(name, {}))
        for name, argument in value.items()
        if name in required
        or name not in properties
        or not _is_left_out(argument, properties[name])
    }


def _is_left_out(value: Any, schema: Schema) -> bool:
    """Whether a value means that the argument is left out: null, or the text `null` if the schema
    does not accept texts."""
    if value is None:
        return True
    types = _types(schema)
    is_name = isinstance(value, str) and value.strip().lower() in _NAMES_OF_NOTHING
    return is_name and bool(types) and "string" not in types


def _value(value: Any, schema: Schema) -> Any:
    """The value in a type of the schema; unchanged if its meaning is not clear."""
    types = _types(schema)
    if not types or any(_IS[kind](value) for kind in types):
        return _inside(value, schema)
    if isinstance(value, str):
        decoded = _decoded(value.lower() if types == ["boolean"] else value)
        fits = any(_IS[kind](decoded) for kind in types)
        return _inside(decoded, schema) if fits else value
    if "array" in types and isinstance(value, dict) and "object" in _types(_items(schema)):
        return [_value(value, _items(schema))]
    if types == ["string"]:
        return _text(value)
    return value


def _inside(value: Any, schema: Schema) -> Any:
    """A value of the right type, with its parts converted."""
    if isinstance(value, dict):
        return _object(value, _branch(schema, "object"))
    if isinstance(value, list):
        return [_value(item, _items(schema)) for item in value]
    if isinstance(value, float) and "number" not in _types(schema) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value not in (names := schema.get("enum") or ()):
        alike = [name for name in names if str(name).lower() == value.strip().lower()]
        return alike[0] if len(alike) == 1 else value
    return value


def _text(value: Any) -> Any:
    """A number, or a list that is surely one text, as that text."""
    if _is_number(value):
        return json.dumps(value)
    is_lines = isinstance(value, list) and value and all(isinstance(line, str) for line in value)
    if is_lines and all(line.endswith("\n") for line in value[:-1]):
        return "".join(value)
    return value


def _types(schema: Schema) -> Sequence[str]:
    """The JSON types that a schema accepts; none if it does not say."""
    if branches := _branches(schema):
        return [kind for branch in branches for kind in _types(branch)]
    types = schema.get("type") or []
    return [kind for kind in ([types] if isinstance(types, str) else types) if kind in _IS]


def _branches(schema: Schema) -> Sequence[Schema]:
    return schema.get("anyOf") or schema.get("oneOf") or ()


def _branch(schema: Schema, kind: str) -> Schema:
    """The alternative for a type; the schema itself if it has no alternatives."""
    return next((branch for branch in _branches(schema) if kind in _types(branch)), schema)


def _items(schema: Schema) -> Schema:
    items = _branch(schema, "array").get("items")
    return items if isinstance(items, dict) else {}


def _decoded(value: Any) -> Any:
    """The value in a text of JSON, in a text of that text, and so on; else the value itself."""
    for _ in range(_NESTED):
        if not isinstance(value, str):
            break
        try:
            # Line ends in texts are not valid JSON, and have a clear meaning.
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            break
    return value


_LEFT_OUT = frozenset(
    {"title", "default", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"}
)
"""Every request repeats every schema, and a call that does not fit is answered with the bound. An
argument that may be left out is not in `required`. llama.cpp refuses a schema with a large bound,
because it builds a grammar of that size."""
_ALTERNATIVES = ("anyOf", "oneOf")


def compact(schema: Any) -> Any:
    """A schema without titles, defaults and bounds, and without null for an optional argument.

    Gemini and the grammars of llama.cpp do not accept such alternatives to null.
    """
    if isinstance(schema, list):
        return [compact(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    fields = {name: value for name, value in _without_null(schema).items() if name not in _LEFT_OUT}
    return {
        name: {key: compact(argument) for key, argument in value.items()}  # names of arguments
        if name == "properties"
        else compact(value)
        for name, value in fields.items()
    }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without null among its types; a single alternative takes the place of all."""
    for keyword in _ALTERNATIVES:
        if isinstance(options := schema.get(keyword), list):
            alternatives = [option for option in options if option != {"type": "null"}]
            other_fields = {name: value for name, value in schema.items() if name != keyword}
            schema = (
                {**alternatives[0], **other_fields}
                if len(alternatives) == 1
                else {**other_fields, keyword: alternatives}
            )
    if isinstance(types := schema.get("type"), list):
        types = [option for option in types if option != "null"]
        schema = {**schema, "type": types[0] if len(types) == 1 else types}
    return schema
