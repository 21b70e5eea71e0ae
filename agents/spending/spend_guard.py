"""SpendGuard: what stands before each request to a provider, first tries and later ones alike.

LangChain passes a model nothing but its messages: whoever makes a call sets the guard for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Protocol

from agents.models.errors import ModelError
from agents.spending.pricing import Usage


class SpendGuard(Protocol):
    """Of one model call."""

    async def before(self, most: Callable[[], Usage]) -> None:
        """A request is about to be sent that can use so much at most. Raises to forbid it."""
        ...

    async def failed(self, error: ModelError) -> None:
        """The request has failed; whether it is tried again is not decided yet."""
        ...


class _NoGuard:
    async def before(self, most: Callable[[], Usage]) -> None:
        """Nobody counts."""

    async def failed(self, error: ModelError) -> None:
        """Nobody counts."""


_GUARD: ContextVar[SpendGuard] = ContextVar("guard", default=_NoGuard())  # noqa: B039 - it has no state


@contextlib.contextmanager
def guarded(guard: SpendGuard) -> Iterator[None]:
    """Have `guard` stand before the requests that are made within the block."""
    token = _GUARD.set(guard)
    try:
        yield
    finally:
        _GUARD.reset(token)


def current_guard() -> SpendGuard:
    """The guard of the call at hand."""
    return _GUARD.get()
