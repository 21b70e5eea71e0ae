"""SpendGuard: checks each request to a provider before it is sent, retries included.

LangChain passes only messages to a model, so the caller sets the guard in a context variable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Protocol

from agents.models.errors import ModelError
from agents.spending.pricing import Usage


class SpendGuard(Protocol):
    """The guard of one model call."""

    async def before(self, most: Callable[[], Usage]) -> None:
        """A request that can use so much is about to be sent. Raises to forbid it."""
        ...

    async def failed(self, error: ModelError) -> None:
        """The request has failed. Whether it is retried is not decided yet."""
        ...


class _NoGuard:
    async def before(self, most: Callable[[], Usage]) -> None:
        """Allows everything."""

    async def failed(self, error: ModelError) -> None:
        """Records nothing."""


_GUARD: ContextVar[SpendGuard] = ContextVar("guard", default=_NoGuard())  # noqa: B039 - it has no state


@contextlib.contextmanager
def guarded(guard: SpendGuard) -> Iterator[None]:
    """Let `guard` check the requests within the block."""
    token = _GUARD.set(guard)
    try:
        yield
    finally:
        _GUARD.reset(token)


def current_guard() -> SpendGuard:
    """The guard of the current call."""
    return _GUARD.get()
