"""What the local provider answers: one turn a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

SIGNATURE = "c2lnbmVk"
"""Of thoughts, on wires that sign them: to be sent back as it came."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for.

    `args` is an object, or a string to be sent as the arguments' own text: `'{"path": '` is how a
    model that was cut off writes them. Gemini has no such text; its wire says
    `MALFORMED_FUNCTION_CALL` instead. `id` is sent in place of the wire's own, where it has ids:
    compatible servers repeat them, or send none ("").
    """

    name: str
    args: Mapping[str, Any] | str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """The usage figures of one reply, in tokens.

    `cached_input` was read out of the provider's cache and `cache_write` put into it: both are part
    of `input`. Only Anthropic's wire has what was written. `thoughts` are part of `output`.
    """

    input: int = 10
    output: int = 5
    cached_input: int = 0
    cache_write: int = 0
    thoughts: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model says: text, tool calls or both. `tokens=None` leaves the figures out.

    `delay_seconds` pass before the first byte, `pace_seconds` between two events of a stream.
    `refusal` is why the model will not answer, in place of an answer. `thoughts` are what it shows
    of its thinking before; they are signed where the wire signs them.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tokens: Tokens | None = Tokens()
    stop: Literal["stop", "length"] = "stop"
    delay_seconds: float = 0.0
    pace_seconds: float = 0.0
    refusal: str = ""
    thoughts: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error status. `retry_after` is in seconds; `fields` are added to the error object."""

    status: int
    message: str = "refused by the script"
    retry_after: float | None = None
    fields: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer for so many seconds, then a closed connection; `after` comes first, by halves.

    With `alive_seconds`, instead: a stream of nothing but signs of life, one each so many seconds.
    """

    seconds: float = 3600.0
    after: Reply | None = None
    alive_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection breaks: before the first byte, or within the body or stream of `reply`."""

    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class Garbled:
    """Status 200 with a body that is no reply."""

    body: str = '{"choices": [{"mess'
    content_type: str = "application/json"


Turn = Reply | Refusal | Hang | Cut | Garbled
