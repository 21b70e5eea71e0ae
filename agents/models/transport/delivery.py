"""Whether a reply has reached the client library that requested it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar


class Delivery:
    """For one request. Any exception that a client raises after the reply was `delivered` is about
    the reply: the client knows no other shape than the one it was written for."""

    delivered = False


_DELIVERY: ContextVar[Delivery | None] = ContextVar("delivery", default=None)


@contextlib.contextmanager
def track_delivery() -> Iterator[Delivery]:
    """See whether the request within the block gets its reply."""
    delivery = Delivery()
    token = _DELIVERY.set(delivery)
    try:
        yield delivery
    finally:
        _DELIVERY.reset(token)


def mark_delivered() -> None:
    """A complete reply goes to the client now."""
    if (delivery := _DELIVERY.get()) is not None:
        delivery.delivered = True
