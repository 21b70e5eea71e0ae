"""Schemas of the arguments of a server's tools, in the part of JSON schema that all clients of
models accept. Pure.

A client refuses a request with one schema that it does not accept, which would end every job. A
call that does not fit the rest of the schema gets the server's error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.models.replies.arguments import compact

MOST_PARTS = 500
"""References are replaced by their targets, so a short schema could become very long."""
MOST_CHARACTERS = 16_000
"""The schema is a part of each request."""
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The names of arguments that Anthropic accepts."""


def portable(schema: Any) -> dict[str, Any]:
    """The schema of an object with the arguments. Optional arguments with a name that some
    providers refuse are left out. Raises ValueError with a predicate."""
    written = compact(_Writer(schema).write(schema, frozenset()))
    fields = {name: written[name] for name in ("properties", "required") if name in written}
    arguments = {"type": "object", "properties": {}, **fields}
    if len(json.dumps(arguments)) > MOST_CHARACTERS:
        raise ValueError(f"has more than {MOST_CHARACTERS} characters")
    return arguments


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
        bases = [self.write(base, followed) for base in _listed(schema.get("allOf"))]
        if isinstance(reference := schema.get("$ref"), str) and reference not in followed:
            bases.append(self.write(_target(self.root, reference), followed | {reference}))
        fields = {name: field for base in bases for name, field in base.items()}
        fields |= _plain_fields(schema) | self._object_fields(schema, bases, followed)
        if "items" in schema:
            fields["items"] = self.write(schema["items"], followed)
        elif "array" in fields.get("type", ()):
            fields.setdefault("items", {})
        listed = _listed(schema.get("anyOf")) or _listed(schema.get("oneOf"))
        options = [self.write(option, followed) for option in listed]
        if any(option != {"type": "null"} for option in options):
            fields["anyOf"] = options
        return fields

    def _object_fields(
        self,
        schema: Mapping[str, Any],
        bases: Sequence[Mapping[str, Any]],
        followed: frozenset[str],
    ) -> dict[str, Any]:
        """The fields of an object that has the properties of all its `bases`, too."""
        properties = {k: part for base in bases for k, part in base.get("properties", {}).items()}
        required = [name for base in bases for name in base.get("required", ())]
        required += _listed(schema.get("required"))
        if isinstance(parts := schema.get("properties"), Mapping):
            for name, part in parts.items():
                if _NAME.fullmatch(name):
                    properties[name] = self.write(part, followed)
                elif name in required:
                    reason = "some providers of models refuse this name"
                    raise ValueError(f"requires the argument {name!r}: {reason}")
        fields = {
            "properties": properties,
            "required": [name for name in properties if name in required],
        }
        return {name: field for name, field in fields.items() if field}


def _plain_fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields without schemas in them."""
    fields: dict[str, Any] = {}
    if isinstance(description := schema.get("description"), str):
        fields["description"] = description
    types = schema.get("type")
    if types := [name for name in _listed(types) or [types] if name in _TYPES]:
        fields["type"] = types[0] if len(types) == 1 else types
    names = _listed(schema.get("enum"))
    # Gemini accepts neither numbers nor empty texts
    if names and all(name and isinstance(name, str) for name in names):
        fields |= {"type": "string", "enum": names}
    return fields


def _target(root: Any, reference: str) -> Any:
    """The part that a reference names; None if the document does not have this part."""
    for name in reference.removeprefix("#/").split("/"):
        root = root.get(name) if isinstance(root, Mapping) else None
    return root


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
