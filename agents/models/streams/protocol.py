"""StreamProtocol: the differences between providers' HTTP APIs. For all assemblers: how pieces are
joined, and which tokens a reply reports.

Every reply is requested as a stream, so that there is a first token to wait for and there are
tokens to show. The client libraries get the complete reply, as if it had not been streamed: all of
them read it alike, with a sixth of the processor time of LangChain's own chunks (measured with
ChatGroq: 33 µs a chunk against 190).

A list comes as pieces of its items: pieces with the same `type` and `index` belong to one item, as
OpenRouter documents for `reasoning_details`. Without an index, an item ends with its signature or
its data, and only the first item of a list can continue an earlier item.

The client libraries read the tokens from replies, and raise at a count that is not an integer, or
keep it: then the journal could not be read again. `reported_tokens` is for replies that no library
reads: cut, refused, or without a valid shape.

See ADR 21.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import httpx

Part = Literal["text", "reasoning", "tool"]


class Chunk(NamedTuple):
    """Some characters of a reply. The part `tool` has the arguments of a call as JSON."""

    part: Part
    text: str


class StreamAssembler(Protocol):
    """Assembles one reply from its events. Pure."""

    is_complete: bool
    """Whether the provider has sent the end of the reply."""

    def feed(self, event: Mapping[str, Any]) -> Sequence[Chunk]:
        """Add the next event; returns the new text for a reader. Raises ModelError for an error."""
        ...

    def result(self) -> dict[str, Any]:
        """The body of the same reply, if it had not been streamed. Each tool call has a name and
        an object for its arguments: the clients raise at anything else."""
        ...


@dataclass(frozen=True, slots=True)
class StreamProtocol:
    """The differences between providers.

    `is_reply` says whether a complete body is a reply; raises ModelRefused if it says that the
    prompt was blocked. A request asks for a stream by the fields in `asks`, or by the URL that
    `streamed` gives it. `content_type` is the content type of a complete reply for the client.
    `message` is the message of a complete reply, if the clients lose some of its fields.
    """

    assembler: Callable[[], StreamAssembler]
    is_reply: Callable[[Mapping[str, Any]], bool]
    asks: Mapping[str, Any] = field(default_factory=dict)
    streamed: Callable[[httpx.Request], httpx.Request] = lambda request: request
    message: Callable[[Mapping[str, Any]], dict[str, Any] | None] | None = None
    content_type: str = "application/json"


_LABELS = ("type", "index", "id", "format", "name", "role")
"""They name an item, and all its pieces repeat them. All other texts are joined."""
_ENDS = ("signature", "data")


def joined(value: Any, piece: Any) -> Any:
    """`value` (None at the beginning) with the next piece: lists and objects are joined, and any
    other value is replaced by the piece."""
    if isinstance(piece, list) and isinstance(value, list | None):
        items = list(value or ())
        for number, item in enumerate(piece):
            if items and _continues(items[-1], item, is_first=number == 0):
                items[-1] = _joined_item(items[-1], item)
            else:
                items.append(item)
        return items
    if isinstance(value, dict) and isinstance(piece, dict):
        return {**value, **{name: joined(value.get(name), piece[name]) for name in piece}}
    return value if piece is None else piece


def _continues(item: Any, piece: Any, *, is_first: bool) -> bool:
    """Whether `piece` belongs to `item`, the item before it. `is_first`: the piece begins its
    list."""
    if not (isinstance(item, dict) and isinstance(piece, dict)):
        return False
    if any(_differ(item.get(name), piece.get(name)) for name in ("type", "index", "id")):
        return False
    if piece.get("index") is not None:
        return True
    return is_first and not any(item.get(name) for name in _ENDS)


def _differ(first: Any, second: Any) -> bool:
    return first is not None and second is not None and first != second


def _joined_item(item: Mapping[str, Any], piece: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(item)
    for name, value in piece.items():
        earlier = merged.get(name)
        if isinstance(earlier, str) and isinstance(value, str) and name not in _LABELS:
            merged[name] = earlier + value
        else:
            merged[name] = joined(earlier, value)
    return merged


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
    """The body of a reply with each count of tokens as an integer, without invalid counts."""
    return _counts(body, nested=_USAGES)


def _counts(usage: Mapping[str, Any], nested: Collection[str] | None = None) -> dict[str, Any]:
    """`nested`: the names of the objects that have counts; None for all."""
    counted: dict[str, Any] = {}
    for name, value in usage.items():
        if isinstance(value, Mapping):
            counted[name] = _counts(value) if nested is None or name in nested else value
        elif not _IS_COUNT.search(name) or value is None or isinstance(value, list):
            counted[name] = value
        elif (count := _token_count(value)) is not None:
            counted[name] = count
    return counted


def _token_count(value: Any) -> int | None:
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
    cached_tokens = details.get("cached_tokens") if isinstance(details, Mapping) else None
    cached = _first(usage, _CACHED) or _count(cached_tokens)
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
