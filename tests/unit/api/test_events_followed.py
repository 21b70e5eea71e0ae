"""Who follows a job hears of its end, whenever it comes."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from support.jobs.job_examples import RESULT, JobService, held, job

from api.routes.events import _followed
from jobs.store.redis_store import RedisStore, connect


class QuietBeforeTheEnd(RedisStore):
    """A wait for events that ends without any, and the job's end right after it."""

    service: JobService | None = None

    async def wait_events(self, job_id: str, after: int, seconds: float) -> Any:
        if self.service is None:
            return await super().wait_events(job_id, after, seconds)
        service, self.service = self.service, None
        running = await service.claim(job_id)
        job(await service.operations.succeed(held(running), RESULT, ""))
        return ()


async def test_an_end_between_two_looks_is_reported(redis_url: str) -> None:
    store = QuietBeforeTheEnd(connect(redis_url, seconds=20))
    made = JobService(store)
    submitted = await made.submit()
    settings = SimpleNamespace(stream_heartbeat_seconds=0.01)
    services = cast("Any", SimpleNamespace(store=store, settings=settings, closing=asyncio.Event()))
    shown = []
    async for facts in _followed(services, submitted.id, 0):
        if not shown:
            store.service = made
        shown += [fact.kind for fact in facts]
    assert shown == ["submitted", "started", "succeeded"]
    assert [len(facts) async for facts in _followed(services, submitted.id, 99)] == [0]
    await store.close()
