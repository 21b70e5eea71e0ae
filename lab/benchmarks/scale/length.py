"""One long job: the cost of each tool call, in time and in bytes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, cast

from redis.asyncio import Redis

from cli.errors import CliError
from jobs.model.record import Status
from jobs.redis.keys import JobKeys
from jobs.service import Operations
from lab.benchmarks.scale import model
from lab.benchmarks.scale.deployment import ScaleDeployment
from lab.benchmarks.scale.figures import Cost
from lab.benchmarks.scale.flight import admit

LOOK_SECONDS = 0.01
MOST_SECONDS = 240
_KEYS_AT_ONCE = 1_000


async def run(target: ScaleDeployment, tools: int) -> Cost:
    """Run one job with this number of tool calls, alone. Each call is a run that prints 50 KB."""
    with target.operations() as operations:
        store = operations.store
        try:
            stored, file_bytes = await _stored(store.redis), _folder_bytes(target.data)
            started_at = time.perf_counter()
            job_id = await _to_its_end(operations, tools)
            seconds = time.perf_counter() - started_at
            event_lines = cast("Awaitable[Any]", store.redis.lrange(JobKeys(job_id).events, 0, -1))
            events = sum(map(len, await event_lines))
            stored, file_bytes = (
                await _stored(store.redis) - stored,
                _folder_bytes(target.data) - file_bytes,
            )
        finally:
            await store.close()
    return Cost(tools, seconds, stored, events, file_bytes)


async def _to_its_end(operations: Operations, tools: int) -> str:
    job_id = await admit(operations, model.length(tools), MOST_SECONDS)
    while True:
        loaded = await operations.store.load(job_id)
        assert loaded is not None
        if loaded.record.status.final:
            break
        await asyncio.sleep(LOOK_SECONDS)
    kinds = [event.kind for event in await operations.store.events(job_id)]
    if (loaded.record.status, kinds.count("run_finished")) != (Status.SUCCEEDED, tools):
        raise CliError("a long job took another course", f"{job_id}: {loaded.record}")
    return job_id


async def _stored(redis: Redis) -> int:
    """The memory of all keys of the database in bytes, as Redis reports it."""
    keys = [key async for key in redis.scan_iter(count=_KEYS_AT_ONCE)]
    total = 0
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        async with redis.pipeline(transaction=False) as pipe:
            for key in keys[start : start + _KEYS_AT_ONCE]:
                pipe.memory_usage(key, samples=0)
            total += sum(size or 0 for size in await pipe.execute())
    return total


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
