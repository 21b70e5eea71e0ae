"""The local provider's answers: one turn per request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SIGNATURE = "c2lnbmVk"
"""The signature of thoughts, in formats that sign them; the client has to send it back."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of the model.

    `args` is an object, or the arguments as text, such as `'{"path": '` of a truncated reply.
    Gemini has no such text and sends `MALFORMED_FUNCTION_CALL`. `id` replaces the generated one, in
    formats with ids: compatible servers repeat ids, or send none ("").
    """

    name: str
    args: Mapping[str, Any] | str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """The usage figures of one reply, in tokens.

    `cached_input` was read from the provider's cache and `cache_write` written to it: both are part
    of `input`. Only Anthropic's format has the latter. `thoughts` are part of `output`.
    """

    input: int = 10
    output: int = 5
    cached_input: int = 0
    cache_write: int = 0
    thoughts: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply: text, tool calls or both. `tokens=None` leaves the usage out.

    `delay_seconds` pass before the first byte, `pace_seconds` between two events of a stream.
    `refusal` is the model's reason for not answering. `thoughts` are its shown reasoning, signed if
    the format signs them.
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
    """No answer for `seconds`, then a closed connection; half of `after` comes first.

    With `alive_seconds`: a stream of heartbeats only, one at each interval.
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
    """Status 200 with an invalid body."""

    body: str = '{"choices": [{"mess'
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Raw:
    """The exact response: each piece is bytes, or a pause in seconds.

    Without `ends`, the server closes the connection before the end of the body.
    """

    pieces: Sequence[bytes | float] = ()
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    ends: bool = True


Turn = Reply | Refusal | Hang | Cut | Garbled | Raw
