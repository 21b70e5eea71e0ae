"""The sandboxes of a worker: whether they work, and how many runs are active at once."""

from __future__ import annotations

import asyncio
import itertools
from types import SimpleNamespace
from typing import cast

import pytest
from support.jobs.job_examples import JobService

from jobs.model.record import Status
from jobs.store.redis_store import RedisStore
from sandbox.protocol import (
    Command,
    End,
    IsolationLayer,
    Limits,
    RunResult,
    SandboxUnavailable,
    Stream,
)
from worker.adapters.sandbox import Bounded
from worker.context import WorkerContext
from worker.metrics import WorkerFigures
from worker.readiness import Readiness
from worker.slots import JobSlots


class BreakableSandbox:
    """A sandbox with a check that succeeds if `working`."""

    def __init__(self, *, working: bool) -> None:
        self.working = working
        self.check_times: list[float] = []
        self.error: Exception = SandboxUnavailable("the engine is away")

    @property
    def checks(self) -> int:
        return len(self.check_times)

    async def run(self, command: Command, limits: Limits) -> RunResult:
        raise AssertionError("nothing is run here")

    async def check(self) -> tuple[IsolationLayer, ...]:
        self.check_times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.01)
        if not self.working:
            raise self.error
        return (IsolationLayer("network", True, "none"),)

    async def close(self) -> None:
        """Has no resources to close."""


async def test_readiness_reports_the_findings_of_the_check() -> None:
    sandbox = BreakableSandbox(working=True)
    readiness = Readiness(sandbox, "local")
    assert not readiness.works
    assert await readiness.try_now()
    layer_fields = {"name": "network", "active": True, "detail": "none"}
    assert readiness.facts() == {
        "backend": "local",
        "works": True,
        "why": "",
        "layers": [layer_fields],
    }
    sandbox.working = False
    assert not await readiness.try_now()
    assert readiness.facts()["why"] == "the engine is away"
    assert readiness.facts()["layers"] == []


async def test_a_broken_sandbox_is_checked_at_growing_intervals_until_it_works() -> None:
    sandbox = BreakableSandbox(working=False)
    readiness = Readiness(sandbox, "local", again_seconds=0.02)
    async with readiness.keep_trying():
        await asyncio.sleep(0.1)
        assert sandbox.checks == 0  # no check has failed yet
        await readiness.try_now()
        async with asyncio.timeout(20):
            while sandbox.checks < 4:
                await asyncio.sleep(0.01)
        pauses = [after - at for at, after in itertools.pairwise(sandbox.check_times)]
        assert all(pause > least for pause, least in zip(pauses, (0.02, 0.04, 0.08), strict=True))
        sandbox.working = True
        await asyncio.wait_for(readiness.wait(), 20)
        checks = sandbox.checks
        await asyncio.sleep(0.1)
        assert sandbox.checks == checks


async def a_worker(
    store: RedisStore, sandbox: BreakableSandbox
) -> tuple[JobService, JobSlots, Readiness]:
    service = JobService(store)
    readiness = Readiness(sandbox, "local", again_seconds=0.01)
    await readiness.try_now()
    context = cast("WorkerContext", SimpleNamespace(readiness=readiness))
    return service, JobSlots("worker-1", service.operations, context, slots=1), readiness


async def test_a_hint_waits_while_the_sandbox_is_broken(redis_store: RedisStore) -> None:
    service, attempts, readiness = await a_worker(redis_store, BreakableSandbox(working=False))
    job = await service.submit()
    taking = asyncio.create_task(attempts.take(job.id))
    await asyncio.sleep(0.05)
    assert not taking.done()
    now = await service.record(job.id)
    assert (now.status, now.attempts, now.retries) == (Status.QUEUED, 0, 0)
    await attempts.drain(1)
    await asyncio.wait_for(taking, 20)
    assert (await service.record(job.id)).status is Status.QUEUED
    assert not readiness.works


async def test_a_job_that_is_to_run_alone_waits_too(redis_store: RedisStore) -> None:
    service, attempts, _ = await a_worker(redis_store, BreakableSandbox(working=False))
    job = await service.submit()
    await attempts.work_alone(job.id)
    assert (await service.record(job.id)).attempts == 0


LIMITS = Limits()
COMMAND = Command.python("print(1)")


class SlowSandbox:
    """A sandbox with runs that end when the test sets `end`. Counts the active runs."""

    def __init__(self) -> None:
        self.active_runs = 0
        self.end = asyncio.Event()
        self.closed = False

    async def run(self, command: Command, limits: Limits) -> RunResult:
        assert (command, limits) == (COMMAND, LIMITS)
        self.active_runs += 1
        try:
            await self.end.wait()
        finally:
            self.active_runs -= 1
        return RunResult(End.EXITED, 0, None, Stream("1\n"), Stream(""), 0.1)

    async def check(self) -> tuple[IsolationLayer, ...]:
        return ()

    async def close(self) -> None:
        self.closed = True


async def let_tasks_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_number_of_active_runs_of_all_jobs_is_limited() -> None:
    slow = SlowSandbox()
    sandbox = Bounded(slow, asyncio.Semaphore(2), WorkerFigures(slots=5))
    runs = [asyncio.create_task(sandbox.run(COMMAND, LIMITS)) for _ in range(5)]
    await let_tasks_run()
    assert slow.active_runs == 2
    assert await sandbox.check() == ()
    runs[0].cancel()  # its sandbox has ended, so the next run starts
    runs[4].cancel()  # this run had no sandbox yet
    await let_tasks_run()
    assert slow.active_runs == 2
    slow.end.set()
    for cancelled in (runs[0], runs[4]):
        with pytest.raises(asyncio.CancelledError):
            await cancelled
    assert [(await pending_run).stdout.text for pending_run in runs[1:4]] == ["1\n"] * 3
    assert slow.active_runs == 0
