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
from agents.spending.budget import BudgetGuard


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
    """`listener` receives the reply while the model generates it; `guard` checks each request
    before it is sent, retries included. `size` is that of the request, and `history` has the fields
    of each of the model's replies in it. `fields` are those of the reply; `begun`: bytes of it have
    come; `received` is about the number of its tokens, and `usage` the tokens that it reports. Any
    exception that a client raises after the reply was `delivered` to it is about the reply: it
    knows no other shape than the one it was written for.
    """

    listener: Listener | None = None
    guard: BudgetGuard | None = None
    size: RequestSize = field(default_factory=RequestSize)
    history: Sequence[Fields | None] = ()
    fields: Fields | None = None
    begun: bool = False
    received: int = 0
    usage: ReportedTokens | None = None
    delivered: bool = False


CALL: ContextVar[CallContext] = ContextVar("call", default=CallContext())  # noqa: B039 - outside of a call nothing is read


@contextlib.contextmanager
def calling(
    *, listener: Listener | None = None, guard: BudgetGuard | None = None
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
