"""Undelivered: how many webhook messages have not arrived, and how long the oldest waits."""

from __future__ import annotations

import asyncio

from api.schemas.system import Undelivered
from jobs.store import Store

LOOKED_AT = 50
"""Of those that wait, by when they are due: of more, an older one may rest between its tries."""


async def undelivered(store: Store) -> Undelivered:
    """The outbox, in figures. Raises StoreUnavailable."""
    (waiting, count), (_, dead), now = await asyncio.gather(
        store.outbox.waiting(LOOKED_AT), store.outbox.dead(1), store.now()
    )
    oldest = min((each.at for each in waiting), default=now)
    return Undelivered(dead=dead, waiting=count, oldest_seconds=max(now - oldest, 0) / 1000)
