#!/usr/bin/env python3
"""Exit 0 while this container's worker is seen in Redis and its sandbox works; else say why."""

from __future__ import annotations

import asyncio
import socket
import sys

from jobs.errors import JobsError
from jobs.redis_store import RedisStore, connect
from settings.base import StoreSettings


async def fault() -> str | None:
    """What is wrong with the worker of this host, or None. An announcement expires by itself."""
    store = RedisStore(connect(StoreSettings().redis_url))
    try:
        seen = [each for each in await store.workers() if each["host"] == socket.gethostname()]
    except JobsError as error:
        return str(error)
    finally:
        await store.close()
    if not seen:
        return "no worker of this container was seen in Redis lately"
    reasons = [each["sandbox"]["why"] for each in seen if not each["sandbox"]["works"]]
    return "; ".join(reasons) or None


if __name__ == "__main__":
    sys.exit(asyncio.run(fault()))
