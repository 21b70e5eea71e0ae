"""Schemas of the arguments of a server's tools, in the part of JSON schema that all clients of
models accept. Pure.

A client refuses a request with one schema that it does not accept, which would end every job. A
call that does not fit the rest of the schema gets the server's error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.models.replies.arguments import compact

MOST_PARTS = 500
"""References are replaced by their targets, so a short schema could become very long."""
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def portable(schema: Any) -> dict[str, Any]:
    """The schema of an object with the arguments. Raises ValueError if it has too many parts."""
    written = compact(_Writer(schema).write(schema, frozenset()))
    fields = {name: written[name] for name in ("properties", "required") if name in written}
    return {"type": "object", "properties": {}, **fields}


@dataclass(slots=True)
class _Writer:
    root: Any
    parts: int = 0

    def write(self, schema: Any, followed: frozenset[str]) -> dict[str, Any]:
        """A part of the schema. `followed`: the references that led to it."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise ValueError(f"has more than {MOST_PARTS} parts")
        if not isinstance(schema, Mapping):
            return {}
        fields: dict[str, Any] = {}
        if isinstance(reference := schema.get("$ref"), str) and reference not in followed:
            fields |= self.write(_target(self.root, reference), followed | {reference})
        for option in _listed(schema.get("allOf")):
            fields |= self.write(option, followed)
        fields |= _plain_fields(schema)
        if isinstance(properties := schema.get("properties"), Mapping):
            fields["properties"] = {
                name: self.write(part, followed) for name, part in properties.items()
            }
            required = _listed(schema.get("required"))
            if required := [name for name in properties if name in required]:
                fields["required"] = required
        if "items" in schema or fields.get("type") == "array":
            fields["items"] = self.write(schema.get("items"), followed)
        if options := _listed(schema.get("anyOf")) or _listed(schema.get("oneOf")):
            fields["anyOf"] = [self.write(option, followed) for option in options]
        return fields


def _plain_fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields without schemas in them."""
    fields: dict[str, Any] = {}
    if isinstance(description := schema.get("description"), str):
        fields["description"] = description
    types = schema.get("type")
    if types := [name for name in _listed(types) or [types] if name in _TYPES]:
        fields["type"] = types[0] if len(types) == 1 else types
    names = _listed(schema.get("enum"))
    if names and all(isinstance(name, str) for name in names):  # Gemini has no enums of numbers
        fields |= {"type": "string", "enum": names}
    return fields


def _target(root: Any, reference: str) -> Any:
    """The part that a reference names; None if there is none, or if it is in another document."""
    for name in reference.removeprefix("#/").split("/"):
        root = root.get(name) if isinstance(root, Mapping) else None
    return root


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
