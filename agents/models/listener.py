"""Who listens to a model while it speaks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Protocol

from agents.models.streams import Chunk


class Listener(Protocol):
    """Hears the chunks of one call's reply as they come. Must not block, nor raise."""

    def begin(self) -> None:
        """A try begins: what was heard of an earlier one does not count any more."""
        ...

    def receive(self, chunks: Sequence[Chunk]) -> None:
        """More of the reply."""
        ...

    def end(self) -> None:
        """The call is over: what is still to be passed on would come behind its event."""
        ...


LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)
"""Of the model call that the running code belongs to: the clients in between know nothing of it."""


@contextlib.contextmanager
def listened_by(listener: Listener | None) -> Iterator[None]:
    """Have `listener` hear the model calls that are made within the block."""
    token = LISTENER.set(listener)
    try:
        yield
    finally:
        LISTENER.reset(token)
        if listener is not None:
            listener.end()
