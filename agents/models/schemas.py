"""JSON schemas in the form that most servers accept. Pure."""

from __future__ import annotations

from typing import Any

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
        return [compact(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    fields = {name: value for name, value in _without_null(schema).items() if name not in _LEFT_OUT}
    return {
        name: {each: compact(argument) for each, argument in value.items()}  # names of arguments
        if name == "properties"
        else compact(value)
        for name, value in fields.items()
    }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without null among its types; a single alternative takes the place of all."""
    for keyword in _ALTERNATIVES:
        if isinstance(options := schema.get(keyword), list):
            others = [each for each in options if each != {"type": "null"}]
            rest = {name: value for name, value in schema.items() if name != keyword}
            schema = {**others[0], **rest} if len(others) == 1 else {**rest, keyword: others}
    if isinstance(types := schema.get("type"), list):
        types = [each for each in types if each != "null"]
        schema = {**schema, "type": types[0] if len(types) == 1 else types}
    return schema
