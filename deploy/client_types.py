#!/usr/bin/env python3
"""`make types`: writes `fettle/types.py`, the types of the Python client, from the API's schemas.

Objects in answers become pydantic models. Objects that only requests have become `TypedDict`s.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from json import dumps
from keyword import iskeyword
from pathlib import Path
from textwrap import fill, indent
from typing import Any

from api.app import create_app
from jobs.model.event_data.model_calls import Usd
from settings.api import ApiSettings

Schema = Mapping[str, Any]

TARGET = Path(__file__).parents[1] / "fettle" / "types.py"
REF = "#/components/schemas/"
WIDTH = 100
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
FORMATS = {"date-time": "datetime", "date": "date"}
USD = Usd.__metadata__[0].pattern
ARGUMENTS = ("task", "files")
"""The fields of a job that `Client.submit` takes in a form of its own."""
OPTIONS = "JobOptions"
HEAD = '''"""The types of the HTTP API, by the names of its schemas. `make types` writes this file.

The models are parts of answers. They accept answers of newer services: each keeps unknown fields,
a type of words is also `str`, and an event of an unknown kind is an `UnknownEvent`. Amounts in US
dollars are decimals. The dictionaries (`TypedDict`) are bodies of requests; the service checks
their values.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Discriminator, Field, Tag, TypeAdapter

from fettle._model import UNKNOWN, Model, tag_among
from fettle._model import UnknownEvent as UnknownEvent  # noqa: PLC0414 - a public name
'''


class TypesModule:
    """The text of the module for the document of an API (`/openapi.json`)."""

    def __init__(self, document: Schema) -> None:
        self._schemas: dict[str, Schema] = document["components"]["schemas"]
        operations = [call for path in document["paths"].values() for call in path.values()]
        self._in_answers = self._reachable(call["responses"] for call in operations)

    def parts(self) -> Iterator[str]:
        """The head and each type, after the types that it names."""
        yield HEAD
        written: set[str] = set()
        for name in self._schemas:
            yield from self._with_parts(name, written)
        yield "EVENTS: TypeAdapter[Event] = TypeAdapter(Event, config={'defer_build': True})"
        yield '"""Reads an event from its JSON text or object."""'

    def _reachable(self, roots: Any) -> set[str]:
        names: set[str] = set()
        new = {name for root in roots for name in _names(root)}
        while new:
            names |= new
            new = {part for name in new for part in _names(self._schemas[name])} - names
        return names

    def _with_parts(self, name: str, written: set[str]) -> Iterator[str]:
        if name in written:
            return
        written.add(name)
        schema = self._schemas[name]
        for part in _names(schema):
            yield from self._with_parts(part, written)
        if "discriminator" in schema:
            yield self._events(name, schema)
        elif "properties" not in schema:
            yield f"{name} = {self._type_of(schema)}\n{_docstring(schema)}\n"
        elif name in self._in_answers:
            yield self._model(name, schema)
        elif name == "JobRequest":
            yield self._job_request(name, schema)
        else:
            yield self._dictionary(name, schema)

    def _events(self, name: str, schema: Schema) -> str:
        kinds = schema["discriminator"]["mapping"]
        tagged = [f"Annotated[{_name(ref)}, Tag({kind!r})]" for kind, ref in kinds.items()]
        union = " | ".join([*tagged, "Annotated[UnknownEvent, Tag(UNKNOWN)]"])
        tag = f"Discriminator(tag_among(frozenset({sorted(kinds)})))"
        return f"{name} = Annotated[{union}, {tag}]\n{_docstring(schema)}\n"

    def _model(self, name: str, schema: Schema) -> str:
        required = schema.get("required", ())
        lines = [
            _attribute(field, self._type_of(value), value, required=field in required)
            for field, value in schema["properties"].items()
        ]
        return _class(f"{name}(Model)", schema, lines)

    def _dictionary(self, name: str, schema: Schema, base: str = "TypedDict") -> str:
        required = schema.get("required", ())
        lines = []
        for field, value in schema["properties"].items():
            kind = self._type_of(value, of_request=True)
            lines.append(f"{field}: {kind if field in required else f'NotRequired[{kind}]'}")
        return _class(f"{name}({base})", schema, lines)

    def _job_request(self, name: str, schema: Schema) -> str:
        fields = dict(schema["properties"])
        arguments = {field: fields.pop(field) for field in ARGUMENTS}
        text = "The fields of a job that are optional, as arguments of `Client.submit`."
        options = self._dictionary(OPTIONS, {"properties": fields, "description": text})
        request = self._dictionary(name, {**schema, "properties": arguments}, base=OPTIONS)
        return f"{options}\n{request}"

    def _type_of(self, schema: Schema, *, of_request: bool = False) -> str:
        match schema:
            case {"$ref": ref}:
                name = _name(ref)
                is_model = name in self._in_answers and "properties" in self._schemas[name]
                return "dict[str, Any]" if of_request and is_model else name
            case {"anyOf": kinds} | {"oneOf": kinds}:
                # None comes last, as in the code of people.
                types = dict.fromkeys(self._type_of(kind, of_request=of_request) for kind in kinds)
                return " | ".join(sorted(types, key=lambda kind: kind == "None"))
            case {"const": word}:
                return f"Literal[{word!r}]"
            case {"enum": words}:
                return f"Literal[{', '.join(map(repr, words))}] | str"
            case {"type": "array"}:
                items = self._type_of(schema.get("items", {}), of_request=of_request)
                return f"list[{items}]"
            case {"type": "object"}:
                values = schema.get("additionalProperties")
                is_typed = isinstance(values, dict) and values
                kind = self._type_of(values, of_request=of_request) if is_typed else "Any"
                return f"dict[str, {kind}]"
            case {"type": "string"} if schema.get("pattern") == USD:
                return "Decimal"
            case {"type": kind}:
                return FORMATS.get(schema.get("format", ""), SIMPLE[kind])
        return "Any"


def _names(schema: object) -> Iterator[str]:
    """The names of the schemas to which a schema refers."""
    return map(_name, re.findall(rf'"({REF}\w+)"', dumps(schema)))


def _name(ref: str) -> str:
    return ref.removeprefix(REF)


def _attribute(field: str, kind: str, schema: Schema, *, required: bool) -> str:
    """The line of a field of a model: its name, its type and its default."""
    default = schema.get("default")
    or_none = "" if required or default is not None or kind.endswith("None") else " | None"
    value = "" if required else repr(default)
    if kind == "Decimal" and default is not None:
        value = f"Decimal({default})"
    elif isinstance(default, dict) and kind.isidentifier():
        value = f"Field(default_factory=lambda: {kind}.model_validate({default!r}))"
    if iskeyword(field):
        field, value = f"{field}_", f"Field({value or '...'}, alias={field!r})"
    return f"{field}: {kind}{or_none}{value and f' = {value}'}"


def _class(head: str, schema: Schema, lines: Iterable[str]) -> str:
    """A class with a line for each property of its schema."""
    parts = [f"class {head}:", _docstring(schema, indented=True)]
    for line, value in zip(lines, schema["properties"].values(), strict=True):
        parts += [f"    {line}", _docstring(value, indented=True)]
    return "\n".join(part for part in parts if part) + "\n"


def _docstring(schema: Schema, *, indented: bool = False) -> str:
    """The description of a schema or a field; empty: it has none."""
    text = " ".join(schema.get("description", "").split()).replace("\\", "\\\\")
    if not text:
        return ""
    margin = 4 if indented else 0
    quoted = fill(f'"""{text}', WIDTH - margin - 3) + '"""'
    return indent(quoted, " " * margin)


def main(target: Path) -> None:
    """Write the module, as `ruff format` writes it."""
    types_module = TypesModule(create_app(ApiSettings()).openapi())
    target.write_text("\n".join(types_module.parts()))
    ruff = Path(sys.executable).with_name("ruff")
    subprocess.run([ruff, "format", "--quiet", target], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else TARGET)
