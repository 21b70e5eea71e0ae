"""The tokens that a reply reports, in any wire format. Pure.

The client libraries read them from replies. This is for replies that no library gets to read: cut,
refused, or without a valid shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_INPUT = ("prompt_tokens", "promptTokenCount", "prompt_eval_count")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_CACHED = ("prompt_cache_hit_tokens", "cache_read_input_tokens", "cachedContentTokenCount")
_WRITTEN = "cache_creation_input_tokens"


class ReportedTokens(NamedTuple):
    """Cached tokens, and those written to a cache, are part of the input."""

    input: int
    output: int
    cached: int = 0
    written: int = 0


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
