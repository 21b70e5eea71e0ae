"""CallContext: the data of one request to a provider, on its way through the client's library.

`ProviderModel` calls the library, and the library calls Fettle's HTTP client, on which it passes
messages only. A context variable carries the rest between these two. Nothing else reads it: the
guard and the listener of a call are fields of the model (`ProviderModel.for_call`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from agents.models.replies.fields import ReplyFields
from agents.models.streams import Chunk
from agents.models.streams.protocol import ReportedTokens
from agents.models.transport.time_limits import RequestSize


@runtime_checkable
class TokenListener(Protocol):
    """Receives the chunks of one call's reply. It must not block or raise."""

    def begin(self) -> None:
        """A try begins: the chunks of an earlier one no longer count."""
        ...

    def receive(self, chunks: Sequence[Chunk]) -> None:
        """More of the reply."""
        ...

    def end(self) -> None:
        """The call has ended. Anything sent after this would come after the call's event."""
        ...


@dataclass(slots=True)
class CallContext:
    """One request of a model call: its input to the HTTP client, and the results from there.

    An exception that a library raises after the reply was `delivered` to it is about the reply: a
    library knows only the shape for which it was written.
    """

    listener: TokenListener | None = None
    """Receives the reply while the model generates it."""
    size: RequestSize = field(default_factory=RequestSize)
    """The bounds of the request, from which its time limits follow."""
    history: Sequence[ReplyFields | None] = ()
    """The fields of each reply in the request, in order."""
    fields: ReplyFields | None = None
    """Result: the fields of the new reply."""
    has_begun: bool = False
    """Result: whether bytes of the reply have come."""
    received: int = 0
    """Result: about how many tokens of the reply have come."""
    usage: ReportedTokens | None = None
    """Result: the tokens that the reply reports."""
    delivered: bool = False
    """Result: whether the library has received the complete reply."""


CALL: ContextVar[CallContext] = ContextVar("call", default=CallContext())  # noqa: B039 - outside of a call nothing is read


@contextlib.contextmanager
def calling(call: CallContext) -> Iterator[None]:
    """Within the block, the HTTP client finds `call`."""
    token = CALL.set(call)
    try:
        yield
    finally:
        CALL.reset(token)
