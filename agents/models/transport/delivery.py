"""Whether a reply has come as far as the client library that asked for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar


class Handed:
    """Of one request. What a client raises `over` a reply is about the reply, whatever it is: it
    knows of no other shape than the one it was written for."""

    over = False


_HANDED: ContextVar[Handed | None] = ContextVar("handed", default=None)


@contextlib.contextmanager
def watched() -> Iterator[Handed]:
    """See whether the request that is made within the block gets its reply."""
    handed = Handed()
    token = _HANDED.set(handed)
    try:
        yield handed
    finally:
        _HANDED.reset(token)


def hand_over() -> None:
    """A whole reply goes to the client now."""
    if (handed := _HANDED.get()) is not None:
        handed.over = True
