"""Claims whose answer is lost: the job must not wait for the lease that nobody knows of."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.jobs.job_examples import JobService

from jobs.errors import StaleEpoch, StoreUnavailable
from jobs.model.record import JobRecord, Status
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions.lifecycle import Change
from worker.context import WorkerContext
from worker.ledger import AttemptWriter
from worker.slots import JobSlots

NOTHING = cast("WorkerContext", None)
"""A claim that fails needs no context."""


def ready(*, patience: float = 60) -> WorkerContext:
    """A context with a sandbox that works, whose attempts are another's from their first step."""

    async def ledger(record: JobRecord, _: AttemptWriter) -> None:
        raise StaleEpoch(record.id, record.epoch)

    readiness = SimpleNamespace(works=True)
    return cast(
        "WorkerContext", SimpleNamespace(readiness=readiness, patience=patience, ledger=ledger)
    )


class Forgetful(RedisStore):
    """A store that applies the next commit, and says that it was away; `away` is for how many
    commits more it is, and applies none."""

    lost = False
    away = 0

    async def commit(self, before: JobRecord, change: Change, **how: Any) -> bool:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("connection refused")
        done = await super().commit(before, change, **how)
        if self.lost:
            self.lost = False
            raise StoreUnavailable("no answer")
        return done


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Forgetful]:
    forgetful = Forgetful(connect(redis_url, seconds=20))
    yield forgetful
    await forgetful.close()


async def test_a_claim_whose_answer_was_lost_is_given_back(store: Forgetful) -> None:
    service = JobService(store)
    job = await service.submit()
    attempts = JobSlots("worker-1", service.operations, NOTHING, slots=1)
    service.hints.clear()
    store.lost = True
    with pytest.raises(StoreUnavailable):
        await attempts.work(job.id, alone=False)
    now = await service.record(job.id)
    assert (now.status, now.crashes, now.epoch) == (Status.QUEUED, 0, 1)
    assert [job_id for job_id, _ in service.hints] == [job.id]
    assert attempts.leases() == ()


async def test_a_job_that_another_worker_holds_is_left_alone(store: Forgetful) -> None:
    service = JobService(store)
    job = await service.running()
    attempts = JobSlots("worker-2", service.operations, NOTHING, slots=1)
    await attempts.work(job.id, alone=False)
    assert (await service.record(job.id)).status is Status.RUNNING


@pytest.mark.invariant("J8")
async def test_a_process_that_was_made_for_a_job_claims_it_when_redis_is_back(
    store: Forgetful,
) -> None:
    service = JobService(store)
    job = await service.submit()
    attempts = JobSlots("worker-1", service.operations, ready(), slots=1)
    store.away = 2
    await attempts.work_alone(job.id)
    assert (await service.kinds(job.id)).count("started") == 1
