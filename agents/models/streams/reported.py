"""The tokens that a reply reports, in any wire format. Pure.

The client libraries read them from replies, and raise at a count that is no whole number, or keep
it: then the journal could not be read again. `reported_tokens` is for replies that no library gets
to read: cut, refused, or without a valid shape.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

_INPUT = ("prompt_tokens", "promptTokenCount", "prompt_eval_count")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_CACHED = ("prompt_cache_hit_tokens", "cache_read_input_tokens", "cachedContentTokenCount")
_WRITTEN = "cache_creation_input_tokens"
_USAGES = ("usage", "usageMetadata")
_IS_COUNT = re.compile("token|_count", re.IGNORECASE)


class ReportedTokens(NamedTuple):
    """Cached tokens, and those written to a cache, are part of the input."""

    input: int
    output: int
    cached: int = 0
    written: int = 0


def with_counts(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a reply with each count of tokens as a whole number, without those that are
    none."""
    return _counts(body, nested=_USAGES)


def _counts(usage: Mapping[str, Any], nested: Collection[str] | None = None) -> dict[str, Any]:
    """`nested`: the names of the objects that have counts; None for all."""
    counted: dict[str, Any] = {}
    for name, value in usage.items():
        if isinstance(value, Mapping):
            counted[name] = _counts(value) if nested is None or name in nested else value
        elif not _IS_COUNT.search(name) or value is None or isinstance(value, list):
            counted[name] = value
        elif (count := _whole(value)) is not None:
            counted[name] = count
    return counted


def _whole(value: Any) -> int | None:
    try:
        return int(float(value))
    except (ValueError, TypeError, OverflowError):
        return None


def reported_tokens(body: Mapping[str, Any]) -> ReportedTokens | None:
    """The tokens of a body in its protocol's form that is not streamed; None if it reports none."""
    usage = body.get("usage") or body.get("usageMetadata") or body
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("prompt_tokens_details")
    named = details.get("cached_tokens") if isinstance(details, Mapping) else None
    cached = _first(usage, _CACHED) or _count(named)
    written = _count(usage.get(_WRITTEN))
    read = _first(usage, _INPUT)
    if "input_tokens" in usage:  # Anthropic counts cached tokens by themselves
        read = _count(usage["input_tokens"]) + cached + written
    output = _first(usage, _OUTPUT) + _count(usage.get("thoughtsTokenCount"))
    return ReportedTokens(read, output, min(cached, read), written) if read or output else None


def _first(usage: Mapping[str, Any], names: tuple[str, ...]) -> int:
    return next((count for name in names if (count := _count(usage.get(name)))), 0)


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0
