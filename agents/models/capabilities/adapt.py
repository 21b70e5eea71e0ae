"""A request's body in the form that a server accepts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.models.capabilities.fields import OUTPUT_LIMITS, plain, without
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
    for name, each in patch.items():
        if each is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), each)
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
        return {key: _limited(key, each, most) for key, each in value.items()}
    return min(value, most) if isinstance(value, int) and plain(name) in OUTPUT_LIMITS else value


def _numbers(body: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The numbers of the body and of the objects in it, by their names."""
    objects = [body, *(value for value in body.values() if isinstance(value, dict))]
    return [(k, v) for each in objects for k, v in each.items() if isinstance(v, int)]
