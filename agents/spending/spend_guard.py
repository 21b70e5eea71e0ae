"""Toll: what stands before each request to a provider, first tries and later ones alike.

LangChain passes a model nothing but its messages: whoever makes a call sets the toll for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Protocol

from agents.models.errors import ModelError
from agents.spending.pricing import Usage


class Toll(Protocol):
    """Of one model call."""

    async def before(self, most: Callable[[], Usage]) -> None:
        """A request is about to be sent that can use so much at most. Raises to forbid it."""
        ...

    async def failed(self, error: ModelError) -> None:
        """The request has failed; whether it is tried again is not decided yet."""
        ...


class _Free:
    async def before(self, most: Callable[[], Usage]) -> None:
        """Nobody counts."""

    async def failed(self, error: ModelError) -> None:
        """Nobody counts."""


_TOLL: ContextVar[Toll] = ContextVar("toll", default=_Free())  # noqa: B039 - it has no state


@contextlib.contextmanager
def tolled(toll: Toll) -> Iterator[None]:
    """Have `toll` stand before the requests that are made within the block."""
    token = _TOLL.set(toll)
    try:
        yield
    finally:
        _TOLL.reset(token)


def current() -> Toll:
    """The toll of the call at hand."""
    return _TOLL.get()
