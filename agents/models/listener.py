"""Listener: receives a reply while the model generates it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Protocol

from agents.models.streams import Chunk


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


LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)
"""The listener of the current model call. The client libraries do not pass it on."""


@contextlib.contextmanager
def listened_by(listener: Listener | None) -> Iterator[None]:
    """Let `listener` receive the model calls within the block."""
    token = LISTENER.set(listener)
    try:
        yield
    finally:
        LISTENER.reset(token)
        if listener is not None:
            listener.end()
