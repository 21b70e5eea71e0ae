"""Whether a reply has come as far as the client library that asked for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar


class Delivery:
    """Of one request. What a client raises `over` a reply is about the reply, whatever it is: it
    knows of no other shape than the one it was written for."""

    delivered = False


_DELIVERY: ContextVar[Delivery | None] = ContextVar("delivery", default=None)


@contextlib.contextmanager
def track_delivery() -> Iterator[Delivery]:
    """See whether the request that is made within the block gets its reply."""
    delivery = Delivery()
    token = _DELIVERY.set(delivery)
    try:
        yield delivery
    finally:
        _DELIVERY.reset(token)


def mark_delivered() -> None:
    """A whole reply goes to the client now."""
    if (delivery := _DELIVERY.get()) is not None:
        delivery.delivered = True
