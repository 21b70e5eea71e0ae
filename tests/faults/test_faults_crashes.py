"""If a worker dies or freezes, another worker continues its jobs and repeats no finished step."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import answers, approves, one_run, plans, runs
from support.processes.deployment import MORTAL, Deployment, running_deployment
from support.processes.scene import TWICE, Scene, Work, processes, sleeps, until

from jobs.model.record import JobRecord, Reason, Status
from jobs.model.spec import JobSpec
from jobs.service import Operations
from lab.provider import Hang, ProviderServer, always
from worker.failures import EXIT_CODE

QUICK, MORE = 30, 20


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(
        tmp_path, GROQ_API_KEY="a", FETTLE_LEASE_SECONDS=MORTAL
    ) as new_deployment:
        yield new_deployment


async def held_by(
    deployment: Deployment, operations: Operations, job_id: str
) -> tuple[JobRecord, int]:
    """Wait until the job runs. Returns its record and the pid of its worker."""
    record = await deployment.until(operations, job_id, Status.RUNNING)
    assert record.lease is not None
    return record, int(record.lease.worker.split(":")[1])


async def requests(server: ProviderServer, count: int) -> None:
    async with asyncio.timeout(30):
        while len(server.requests) < count:
            await asyncio.sleep(0.02)


async def test_only_a_job_that_kills_its_own_process_is_poison(deployment: Deployment) -> None:
    turns = [
        plans("innocent"),
        runs("innocent", "print('one')", 0),
        runs("one", "import time; time.sleep(4); print('two')", 1),
        answers("two", "done", 2),
        approves("r2"),
    ]
    with ProviderServer(always(Hang())) as server:
        async with deployment.operations() as operations:
            poison = await deployment.submit(
                operations, JobSpec(task="poison", model="groq:poison")
            )
            spec = JobSpec(task="innocent", model=deployment.record("innocent", turns))
            innocent = await deployment.submit(operations, spec)
            for crash in (1, 2):
                worker = deployment.worker(groq_base_url=server.groq_url)
                await requests(server, crash)
                if crash == 1:
                    await deployment.wait_for_event(operations, innocent, "run_finished")
                worker.kill()
                worker.wait()
            survivor = deployment.worker(groq_base_url=server.groq_url)
            await requests(server, 3)
            record, pid = await held_by(deployment, operations, poison)
            assert record.lease is not None
            assert (record.lease.alone, record.crashes) == (True, 2)
            assert pid != survivor.pid
            os.kill(pid, signal.SIGKILL)
            poisoned_job = await deployment.until(operations, poison)
            assert (poisoned_job.status, poisoned_job.reason) == (Status.FAILED, Reason.POISONED)
            innocent_job = await deployment.until(operations, innocent)
            assert innocent_job.status is Status.SUCCEEDED, deployment.logs()
            kinds = await deployment.kinds(operations, innocent)
            assert (kinds.count("run_finished"), kinds.count("model_called")) == (2, 5)
            assert survivor.poll() is None


@pytest.mark.invariant("J5")
async def test_a_frozen_worker_does_not_change_its_job_when_it_wakes(scene: Scene) -> None:
    """Another worker takes the job. When the old worker wakes, it ends its sandbox and the
    attempt.
    """
    seconds = "11.235813"
    scene.deployment.worker()
    scene.deployment.worker()
    await scene.deployment.ready(2)
    await scene.submit("frozen", Work((sleeps(seconds),)))
    await until(lambda: len(processes(seconds)) == 1, show_details=scene.deployment.logs)
    (sandbox,) = processes(seconds)
    frozen = await scene.holder("frozen")
    frozen.send_signal(signal.SIGSTOP)
    await until(lambda: len(processes(seconds)) == 2, show_details=scene.deployment.logs)
    frozen.send_signal(signal.SIGCONT)
    await until(lambda: sandbox not in processes(seconds), 5, scene.deployment.logs)
    new_holder = await scene.holder("frozen")
    assert new_holder.pid != frozen.pid
    await scene.wait_for_success("frozen")
    await scene.check_paid_once("frozen")
    assert (await scene.event_kinds("frozen")).count("lease_lost") == 1
    assert "lease lost" in scene.deployment.logs()
    scene.kill(new_holder)
    await scene.submit("after")
    await scene.wait_for_success("after")
    assert not processes(seconds)
    await scene.judge()


@pytest.mark.invariant("J5")
@pytest.mark.invariant("J13")
async def test_a_frozen_worker_reads_an_answer_after_another_repeated_the_call(
    scene: Scene,
) -> None:
    """Both calls are charged, one call is reported, and the new holder of the lease sets the
    result.
    """
    scene.deployment.worker()
    scene.deployment.worker()
    await scene.deployment.ready(2)
    work = Work(TWICE, seconds=1.5)
    job_id = await scene.submit("frozen", work)
    await scene.requests("frozen", 2)
    frozen = await scene.holder("frozen")
    frozen.send_signal(signal.SIGSTOP)
    # when the third request arrives, the answer to the second is in the socket of the frozen worker
    await scene.requests("frozen", 3)
    new_holder = await scene.holder("frozen")
    assert new_holder.pid != frozen.pid
    frozen.send_signal(signal.SIGCONT)
    await scene.wait_for_success("frozen")
    assert len(scene.requests_by_model["frozen"]) == work.calls + 1
    events = await scene.operations.store.events(job_id)
    kinds = [event.kind for event in events]
    assert (kinds.count("model_called"), kinds.count("run_finished")) == (work.calls, 2)
    assert [event.data["attempt"] for event in events if event.kind == "started"] == [1, 2]
    charges = await scene.operations.store.charges(job_id)
    assert len({charge.call for charge in charges}) == len(charges) == work.calls + 1
    assert await scene.holders(job_id) == [frozen.pid, new_holder.pid]
    verdict = await scene.judge()
    assert (verdict.repeated_in_flight, verdict.repeated_paid_calls) == (1, 0)


async def wait_until_hung(scene: Scene, worker: subprocess.Popen[bytes], name: str) -> None:
    """Wait until the worker hangs after the answer to the second call of its job."""
    await scene.requests(name, 2)
    assert (await scene.holder(name)).pid == worker.pid
    await asyncio.sleep(0.5)


@pytest.mark.invariant("J8")
async def test_a_worker_with_a_hung_event_loop_ends_itself(scene: Scene) -> None:
    """A worker with a hung event loop exits, so that another worker continues its jobs."""
    stuck = scene.deployment.worker(fail_point="before_journal:2:stuck", stuck_seconds="2")
    await scene.submit("held", Work(TWICE))
    await wait_until_hung(scene, stuck, "held")
    scene.deployment.worker()
    await until(lambda: stuck.poll() is not None, 30, scene.deployment.logs)
    assert stuck.returncode == EXIT_CODE
    assert "event loop does not answer" in scene.deployment.logs()
    assert "fail_points.py" in scene.deployment.logs(), "it says where it hung"
    await scene.wait_for_success("held")
    kinds = await scene.event_kinds("held")
    assert (kinds.count("lease_lost"), kinds.count("run_finished")) == (1, 2)
    verdict = await scene.judge()
    assert (verdict.repeated_in_flight, verdict.repeated_paid_calls) == (1, 0)


async def test_a_job_of_a_hung_worker_ends_at_its_deadline(scene: Scene) -> None:
    """The hung worker cannot enforce the deadline, so the sweeper of another worker enforces it."""
    late = {"overdue_seconds": "1", "stuck_seconds": "600"}
    stuck = scene.deployment.worker(fail_point="before_journal:2:stuck", **late)
    await scene.submit("late", Work(TWICE), timeout_seconds=3)
    await wait_until_hung(scene, stuck, "late")
    scene.deployment.worker()
    job = await scene.end("late", 30)
    assert (job.status, job.reason) == (Status.FAILED, Reason.DEADLINE)
    assert "3 s" in job.detail
    assert (await scene.event_kinds("late"))[-2:] == ["lease_lost", "failed"]
    assert stuck.poll() is None
    scene.kill(stuck)
    await scene.judge()


async def test_two_workers_do_each_job_once_even_if_one_of_them_dies(
    deployment: Deployment,
) -> None:
    quick = deployment.record("quick", one_run("quick", "print('x')"))
    slow = deployment.record("slow", one_run("slow", "import time; time.sleep(1); print('x')"))
    doomed, survivor = deployment.worker(), deployment.worker()
    await deployment.ready(2)
    async with deployment.operations() as operations:
        first = await submitted(deployment, operations, QUICK, JobSpec(task="quick", model=quick))
        workers = set()
        for job_id in first:
            job = await deployment.until(operations, job_id)
            assert (job.status, job.attempts) == (Status.SUCCEEDED, 1), deployment.logs()
            await assert_once(deployment, operations, job_id)
            (started, *_) = (
                event for event in await operations.store.events(job_id) if event.kind == "started"
            )
            workers.add(int(started.data["worker"].split(":")[1]))
        assert workers == {doomed.pid, survivor.pid}
        spec = JobSpec(task="slow", model=slow)
        more = await submitted(deployment, operations, MORE, spec)
        await deployment.until(operations, more[MORE // 4])
        while not await holds_one(deployment, operations, more, doomed.pid):
            # the worker that will be killed always finds a job
            more += await submitted(deployment, operations, 1, spec)
        doomed.kill()
        lost = 0
        for job_id in more:
            job = await deployment.until(operations, job_id)
            assert job.status is Status.SUCCEEDED, deployment.logs()
            await assert_once(deployment, operations, job_id)
            lost += job.attempts - 1
        assert lost > 0  # otherwise the kill would have no effect


async def holds_one(
    deployment: Deployment, operations: Operations, job_ids: list[str], pid: int
) -> bool:
    """Whether the worker in this process has the lease of one of the jobs."""
    records = [await deployment.record_of(operations, job_id) for job_id in job_ids]
    return any(record.lease and f":{pid}:" in record.lease.worker for record in records)


async def submitted(
    deployment: Deployment, operations: Operations, count: int, spec: JobSpec
) -> list[str]:
    return [await deployment.submit(operations, spec) for _ in range(count)]


async def assert_once(deployment: Deployment, operations: Operations, job_id: str) -> None:
    """The events report each call, each run and the end of a job exactly once."""
    kinds = await deployment.kinds(operations, job_id)
    counted = {kind: kinds.count(kind) for kind in ("model_called", "run_finished", "succeeded")}
    assert counted == {"model_called": 4, "run_finished": 1, "succeeded": 1}, kinds
