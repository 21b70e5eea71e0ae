"""Claims and attempts while Redis is away: no job waits for an expired lease, and no wait is longer
than FETTLE_PATIENCE_SECONDS."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from langgraph.runtime import RunControl
from structlog.testing import capture_logs
from support.jobs.job_examples import JobService, claimed, lease_of, queued, review

from agents.ports.spending import MaxSpend
from jobs.errors import StaleEpoch, StoreUnavailable
from jobs.model.record import Cause, JobRecord, Reason, Status
from jobs.service import Operations
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions.lifecycle import Change, Refusal
from settings.worker import WorkerSettings
from worker.adapters.rate_limit import RedisRateLimit
from worker.attempt import Attempt
from worker.context import WorkerContext, build_context
from worker.graph_runner import GraphRunner
from worker.ledger import AttemptWriter, Ledger, RecordCheck
from worker.metrics import WorkerFigures
from worker.ports import PortsBuilder
from worker.slots import JobSlots
from worker.store import Patience

CLOSED_PORT = "redis://127.0.0.1:1/0"
"""An address that refuses connections."""
PATIENCE_SECONDS = 0.3


def new_context(patience_seconds: float = 60) -> WorkerContext:
    """A context with a sandbox that works. Attempts lose their lease at their first step."""

    async def ledger(record: JobRecord, _: AttemptWriter) -> None:
        raise StaleEpoch(record.id, record.epoch)

    readiness = SimpleNamespace(works=True)
    return cast(
        "WorkerContext",
        SimpleNamespace(readiness=readiness, patience=Patience(patience_seconds), ledger=ledger),
    )


class UnreliableStore(RedisStore):
    """A store that refuses the next `away` commits. If `loses_answer` is set, it applies the next
    commit and raises StoreUnavailable."""

    loses_answer = False
    away = 0

    async def commit(self, before: JobRecord, change: Change, **options: Any) -> bool:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("connection refused")
        committed = await super().commit(before, change, **options)
        if self.loses_answer:
            self.loses_answer = False
            raise StoreUnavailable("no answer")
        return committed


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[UnreliableStore]:
    store = UnreliableStore(connect(redis_url, seconds=20))
    yield store
    await store.close()


async def test_a_claim_with_a_lost_answer_is_released(store: UnreliableStore) -> None:
    service = JobService(store)
    job = await service.submit()
    slots = JobSlots("worker-1", service.operations, new_context(), slots=1)
    service.hints.clear()
    store.loses_answer = True
    with pytest.raises(StoreUnavailable):
        await slots.work(job.id, alone=False)
    record = await service.record(job.id)
    assert (record.status, record.crashes, record.epoch) == (Status.QUEUED, 0, 1)
    assert [job_id for job_id, _ in service.hints] == [job.id]
    assert slots.leases() == ()
    last_event = (await store.events(job.id))[-1]
    assert (last_event.kind, last_event.data["cause"]) == ("given_back", Cause.REDIS)


async def test_a_job_with_another_workers_lease_is_not_changed(store: UnreliableStore) -> None:
    service = JobService(store)
    job = await service.running()
    slots = JobSlots("worker-2", service.operations, new_context(), slots=1)
    await slots.work(job.id, alone=False)
    assert (await service.record(job.id)).status is Status.RUNNING


@pytest.mark.invariant("J8")
async def test_a_process_for_a_single_job_claims_it_as_soon_as_redis_is_available(
    store: UnreliableStore,
) -> None:
    service = JobService(store)
    job = await service.submit()
    slots = JobSlots("worker-1", service.operations, new_context(), slots=1)
    store.away = 2
    await slots.work_alone(job.id)
    assert (await service.kinds(job.id)).count("started") == 1


class BrokenRunner(GraphRunner):
    """A runner that fails while Redis is away."""

    async def run(self) -> JobRecord | Refusal:
        raise ValueError("a bug")

    async def fail(self, reason: Reason, detail: str) -> JobRecord | Refusal:
        raise StoreUnavailable("connection refused")


@pytest.mark.invariant("J8")
async def test_a_drain_returns_a_job_whose_attempt_waits_for_redis(store: UnreliableStore) -> None:
    service = JobService(store)
    record = await service.running()
    control = RunControl()
    writer = AttemptWriter(store, lease_of(record), Patience(0))
    runner = BrokenRunner(record, service.operations, new_context(), control, writer)
    store.away = 1_000
    with capture_logs() as logs:
        attempt = asyncio.create_task(Attempt(runner).run())
        async with asyncio.timeout(20):
            while "attempt waits for Redis" not in [entry["event"] for entry in logs]:
                await asyncio.sleep(0.01)
            control.request_drain()
            attempt.cancel()
            await asyncio.sleep(0.1)
            store.away = 0
            await attempt
    now = await service.record(record.id)
    assert (now.status, now.crashes, now.retries) == (Status.QUEUED, 0, 0)


@dataclass(frozen=True)
class WorkerWithoutRedis:
    """The parts of a worker while Redis refuses connections, and one of its attempts."""

    context: WorkerContext
    slots: JobSlots
    runner: GraphRunner
    ledger: Ledger

    async def check_lease(self) -> None:
        await RecordCheck(self.context.store, self.ledger.writer).check()

    async def send_event(self) -> None:
        self.ledger.writer.batch.workspace = ""
        await self.ledger.writer.send()

    async def reserve_budget(self) -> None:
        budget = self.context.models.spending.budget(
            self.runner.record, self.context.store, self.ledger
        )
        await budget.reserve(lambda: MaxSpend("groq:a", 1, Decimal(0)))

    async def settle_budget(self) -> None:
        budget = self.context.models.spending.budget(
            self.runner.record, self.context.store, self.ledger
        )
        await budget.release("reservation")

    async def wait_for_turn(self) -> None:
        limit = RedisRateLimit(self.context.store.redis, {}, self.context.patience, 60.0)
        await limit.wait("groq:a", 1)

    async def read_checkpoint(self) -> None:
        config = {"configurable": {"thread_id": self.runner.record.id}}
        await self.context.saver(self.ledger.writer).aget_tuple(config)

    async def pin_files(self) -> None:
        builder = PortsBuilder(self.context, self.runner.record, self.ledger)
        await builder.blobs.put(b"content")


@pytest.fixture
async def worker(tmp_path: Path) -> AsyncIterator[WorkerWithoutRedis]:
    settings = WorkerSettings.model_validate(
        {"redis_url": CLOSED_PORT, "data_dir": tmp_path, "patience_seconds": PATIENCE_SECONDS}
    )
    store = RedisStore(connect(CLOSED_PORT))
    context = build_context(settings, store, WorkerFigures(1))
    operations = Operations(store, lambda _: None)
    record = claimed(queued())
    writer = AttemptWriter(store, lease_of(record), context.patience)
    runner = GraphRunner(record, operations, context, RunControl(), writer)
    slots = JobSlots("worker-1", operations, context, slots=1)
    yield WorkerWithoutRedis(context, slots, runner, Ledger(writer, {}))
    await context.close()
    await store.close()


WAITS: dict[str, Callable[[WorkerWithoutRedis], Awaitable[object]]] = {
    "claim": lambda worker: worker.slots.work("j1", alone=False),
    "graph": lambda worker: worker.runner.run(),
    "question": lambda worker: worker.runner.ask(review()),
    "failure": lambda worker: worker.runner.fail(Reason.INTERNAL, "a bug"),
    "lease": WorkerWithoutRedis.check_lease,
    "write": WorkerWithoutRedis.send_event,
    "reservation": WorkerWithoutRedis.reserve_budget,
    "settlement": WorkerWithoutRedis.settle_budget,
    "rate limit": WorkerWithoutRedis.wait_for_turn,
    "checkpoint": WorkerWithoutRedis.read_checkpoint,
    "files": WorkerWithoutRedis.pin_files,
}


@pytest.mark.parametrize("wait", WAITS)
async def test_each_wait_for_redis_is_as_long_as_the_setting(
    worker: WorkerWithoutRedis, wait: str
) -> None:
    started_at = time.monotonic()
    async with asyncio.timeout(10):
        with pytest.raises(StoreUnavailable):
            await WAITS[wait](worker)
    assert time.monotonic() - started_at >= PATIENCE_SECONDS
