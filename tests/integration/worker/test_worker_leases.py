"""What a heartbeat says of a job that this process does not hold any more."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from structlog.testing import capture_logs
from support.jobs.job_examples import RESULT, JobService, job
from support.jobs.job_examples import held as lease_of

from jobs.errors import StaleEpoch
from jobs.model.record import JobRecord, Status
from jobs.store import LeaseRef
from jobs.store.redis_store import RedisStore, connect
from worker.attempts import Attempts
from worker.background.heartbeat import Leases, LoopWatchdog
from worker.context import WorkerContext

HEARTBEAT = 0.05


@dataclass
class Ending:
    """The context of an attempt that stands still at its first step, having ended its job there if
    it `ends` it."""

    service: JobService
    ends: bool
    patience: float = 0.0
    there: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def ledger(self, record: JobRecord) -> None:
        """What an attempt asks for first."""
        if self.ends:
            await self.service.operations.succeed(lease_of(record), RESULT)
        self.there.set()
        await self.go_on.wait()
        raise StaleEpoch(record.id, record.epoch)


@dataclass
class Beating:
    """A job at work under the heartbeat of its process."""

    service: JobService
    equipment: Ending
    job_id: str
    attempts: Attempts
    work: asyncio.Task[None]
    missed: asyncio.Event


@contextlib.asynccontextmanager
async def beating(url: str, *, ends: bool) -> AsyncIterator[Beating]:
    store = RedisStore(connect(url))
    service = JobService(store)
    job_id = (await service.submit()).id
    equipment = Ending(service, ends)
    attempts = Attempts("worker-1", service.operations, cast("WorkerContext", equipment), slots=1)
    work = asyncio.create_task(attempts.work(job_id, alone=False))
    await equipment.there.wait()
    loop = asyncio.get_running_loop()
    missed = asyncio.Event()

    def lost(held: LeaseRef) -> None:
        loop.call_soon_threadsafe(attempts.lease_lost, held)
        loop.call_soon_threadsafe(missed.set)

    leases = Leases(
        "worker-1",
        url,
        lease_seconds=15,
        heartbeat_seconds=HEARTBEAT,
        held=attempts.held,
        lost=lost,
        facts=dict,
        drain=lambda: None,
        pulse=LoopWatchdog(loop.call_soon_threadsafe, 60),
    )
    leases.start()
    try:
        yield Beating(service, equipment, job_id, attempts, work, missed)
    finally:
        equipment.go_on.set()
        await asyncio.to_thread(leases.stop)
        await store.close()


def said(logs: Any) -> list[str]:
    return [entry["event"] for entry in logs if entry["event"] in {"lease lost", "attempt stopped"}]


async def test_nothing_is_wrong_with_a_lease_that_was_released_in_good_order(
    redis_url, monkeypatch
):
    """The heartbeat meets the job between its end on record and the end of its attempt here."""
    monkeypatch.setattr("worker.attempts.READ_SECONDS", 600)  # no time decides what is said
    with capture_logs() as logs:
        async with beating(redis_url, ends=True) as at_work:
            async with asyncio.timeout(20):
                await at_work.missed.wait()
            at_work.equipment.go_on.set()
            await at_work.work
            assert (await at_work.service.record(at_work.job_id)).status is Status.SUCCEEDED
    assert said(logs) == []


@pytest.mark.invariant("J5")
async def test_an_attempt_whose_lease_is_lost_is_stopped_and_that_is_said_once(redis_url):
    with capture_logs() as logs:
        async with beating(redis_url, ends=False) as at_work:
            operations = at_work.service.operations
            job(await operations.requeue(LeaseRef(at_work.job_id, 1), "its worker was frozen"))
            job(await operations.claim(at_work.job_id, "worker-2"))
            async with asyncio.timeout(20):
                await at_work.work
            assert at_work.attempts.held() == ()
    assert said(logs) == ["lease lost", "attempt stopped"]
