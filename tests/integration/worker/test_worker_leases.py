"""If a heartbeat finds a lease lost, the worker stops the attempt and logs one warning."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from structlog.testing import capture_logs
from support.jobs.job_examples import JobService, job

from jobs.model.record import Cause, JobRecord
from jobs.store import LeaseRef
from worker.background.heartbeat import Leases, LoopWatchdog
from worker.context import WorkerContext
from worker.ledger import AttemptWriter
from worker.slots import JobSlots
from worker.store import Patience


class StandsStill:
    """The context of an attempt that never gets beyond its first step."""

    patience = Patience(0)

    def __init__(self) -> None:
        self.started = asyncio.Event()

    async def ledger(self, _: JobRecord, writer: AttemptWriter) -> None:
        """The call of an attempt's first step."""
        self.started.set()
        await asyncio.Event().wait()


@pytest.mark.invariant("J5")
async def test_an_attempt_with_a_lost_lease_is_stopped_and_this_is_logged_once(
    redis_url, redis_store
):
    service, context = JobService(redis_store), StandsStill()
    job_id = (await service.submit()).id
    attempts = JobSlots("worker-1", service.operations, cast("WorkerContext", context), slots=1)
    call_in_loop = asyncio.get_running_loop().call_soon_threadsafe
    leases = Leases(
        "worker-1",
        redis_url,
        lease_seconds=15,
        heartbeat_seconds=0.05,
        leases=attempts.leases,
        lost=lambda lease: call_in_loop(attempts.lease_lost, lease),
        facts=dict,
        drain=lambda: None,
        pulse=LoopWatchdog(call_in_loop, 60),
    )
    with capture_logs() as logs:
        work = asyncio.create_task(attempts.work(job_id, alone=False))
        await context.started.wait()
        leases.start()
        try:
            job(
                await service.operations.requeue(
                    LeaseRef(job_id, 1), "its worker was frozen", Cause.STOPPING
                )
            )
            job(await service.operations.claim(job_id, "worker-2"))
            async with asyncio.timeout(20):
                await work
        finally:
            await asyncio.to_thread(leases.stop)
    assert attempts.leases() == ()
    event_names = [entry["event"] for entry in logs]
    assert [name for name in event_names if name in {"lease lost", "attempt stopped"}] == [
        "lease lost",
        "attempt stopped",
    ]
