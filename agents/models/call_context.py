"""CallContext: what belongs to one model call. The client libraries pass only messages on, so it is
in a context variable."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from agents.models.replies.fields import Fields
from agents.models.streams import Chunk
from agents.models.streams.reported import ReportedTokens
from agents.models.transport.time_limits import RequestSize
from agents.ports.spending import RequestGuard


class Listener(Protocol):
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
    """One try of a call.

    An exception that a client raises after the reply was `delivered` to it is about the reply: a
    client knows only the shape for which it was written.
    """

    listener: Listener | None = None
    """Receives the reply while the model generates it."""
    guard: RequestGuard | None = None
    """Checks each request before it is sent, retries included."""
    size: RequestSize = field(default_factory=RequestSize)
    history: Sequence[Fields | None] = ()
    """The fields of each reply in the request, in order."""
    fields: Fields | None = None
    """The fields of the new reply."""
    has_begun: bool = False
    """Whether bytes of the reply have come."""
    received: int = 0
    """About the tokens of the reply so far."""
    usage: ReportedTokens | None = None
    """The tokens that the reply reports."""
    delivered: bool = False


CALL: ContextVar[CallContext] = ContextVar("call", default=CallContext())  # noqa: B039 - outside of a call nothing is read


@contextlib.contextmanager
def calling(
    *, listener: Listener | None = None, guard: RequestGuard | None = None
) -> Iterator[CallContext]:
    """The context within the block; what is not given here is as around it."""
    around = CALL.get()
    call = CallContext(listener or around.listener, guard or around.guard)
    token = CALL.set(call)
    try:
        yield call
    finally:
        CALL.reset(token)
        if listener is not None:
            listener.end()
