"""A writer or a sealer of an audit log, as a process that a test can kill.

Arguments: `write` or `seal`, Redis' address, the tenant, and for a writer the first number. A
writer appends numbered entries, and prints a number when its entry is on record.
"""

from __future__ import annotations

import asyncio
import itertools
import sys

from jobs.audit.entries import Actor, EntryKind, NewEntry
from jobs.store.redis_store import RedisStore, connect


async def main(role: str, redis_url: str, tenant: str, first: str = "0") -> None:
    """Work until killed."""
    store = RedisStore(connect(redis_url, seconds=20))
    print("ready", flush=True)
    for number in itertools.count(int(first)):
        if role == "seal":
            await store.audit.seal(tenant)
            continue
        data = {"number": number}
        await store.audit.append(NewEntry(tenant, EntryKind.SIGNED_IN, Actor("ada"), data))
        print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
