"""A request's body in the form that a server accepts. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.models.capabilities.record import Capabilities

OUTPUT_LIMITS = frozenset({"maxtokens", "maxcompletiontokens", "maxoutputtokens", "numpredict"})
"""The names of the limit on output tokens in all wire formats, as `plain` writes them."""
NAMES_OF_USERS = frozenset({"properties", "$defs", "definitions", "patternProperties"})
"""The keys in these objects of a schema are names that a tool's author chose."""
DATA_OF_USERS = frozenset({"arguments", "args", "input", "response", "default", "enum", "const"})
"""Values with these names are data: an argument of a call is no field of the request."""


def plain(name: str) -> str:
    """A field's name in one spelling: servers answer `max_output_tokens` to `maxOutputTokens`."""
    return re.sub(r"[^a-z0-9$]", "", name.lower())


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
            adapted[section] = _without(adapted[section], name)
            if not adapted[section]:
                del adapted[section]
    if record.max_output_tokens is not None:
        adapted = limit_output(adapted, record.max_output_tokens)
    return adapted


def limit_output(body: Mapping[str, Any], most: int) -> dict[str, Any]:
    """`body` with at most `most` as its limit on output tokens."""
    limited = dict(body)
    for name, value in body.items():
        if isinstance(value, dict):
            limited[name] = {key: _limited(key, each, most) for key, each in value.items()}
        else:
            limited[name] = _limited(name, value, most)
    return limited


def _limited(name: str, value: Any, most: int) -> Any:
    return min(value, most) if isinstance(value, int) and plain(name) in OUTPUT_LIMITS else value


def _without(value: Any, name: str, *, names: bool = False) -> Any:
    """`value` without the fields `name` at any depth. `names`: the keys of `value` are names that
    users chose."""
    if isinstance(value, list):
        return [_without(each, name) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: each
        if key in DATA_OF_USERS and not names
        else _without(each, name, names=key in NAMES_OF_USERS and not names)
        for key, each in value.items()
        if names or key != name
    }
