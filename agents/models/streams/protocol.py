"""StreamProtocol: the differences between providers' HTTP APIs.

Every reply is requested as a stream, so that there is a first token to wait for and there are
tokens to show. The client libraries get the complete reply, as if it had not been streamed: all of
them read it alike, with a sixth of the processor time of LangChain's own chunks (measured with
ChatGroq: 33 µs a chunk against 190).

Why: docs/decisions/0021-ask-for-streams.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import httpx

Part = Literal["text", "reasoning", "tool"]


class Chunk(NamedTuple):
    """Some characters of a reply. Those of a `tool` are its arguments as JSON."""

    part: Part
    text: str


class StreamAssembler(Protocol):
    """Assembles one reply from its events. Pure."""

    ended: bool
    """Whether the provider has sent the end of the reply."""

    def feed(self, event: Mapping[str, Any]) -> Sequence[Chunk]:
        """Add the next event; returns what it adds for a reader. Raises ModelError for an error."""
        ...

    def result(self) -> dict[str, Any]:
        """The body of the same reply, if it had not been streamed. Each tool call has a name and
        an object for its arguments: the clients raise at anything else."""
        ...


@dataclass(frozen=True, slots=True)
class StreamProtocol:
    """What differs between providers.

    `is_reply` says whether a complete body is a reply; raises ModelRefused if it says that the
    prompt was blocked. A request asks for a stream by the fields in `asks`, or by the URL that
    `streamed` gives it. `content_type` is that of a complete reply for the client. `message` is the
    message of a complete reply, if the clients lose some of its fields.
    """

    assembler: Callable[[], StreamAssembler]
    is_reply: Callable[[Mapping[str, Any]], bool]
    asks: Mapping[str, Any] = field(default_factory=dict)
    streamed: Callable[[httpx.Request], httpx.Request] = lambda request: request
    message: Callable[[Mapping[str, Any]], dict[str, Any] | None] | None = None
    content_type: str = "application/json"
