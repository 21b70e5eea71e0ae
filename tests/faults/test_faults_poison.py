"""A job that kills its worker, through its memory or otherwise, fails; all other jobs finish."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.processes.deployment import ok
from support.processes.scene import TWICE, Scene, Work

from jobs.model.record import Reason, Status
from lab.drills.chaos.oplog import Moment, Retried, Struck
from lab.provider import Hang, Reply

INNOCENTS = 50
SMALL = 10
MIB = 2**20


class Huge(Reply):
    """A reply with a short repr, so that a failing test does not print the full reply."""

    def __repr__(self) -> str:
        return "Huge()"


@contextlib.asynccontextmanager
async def supervised_worker(scene: Scene) -> AsyncIterator[list[int]]:
    """Run a worker until the block ends and replace it when it dies, as a supervisor would. Yields
    the exit codes of the dead workers.
    """
    codes: list[int] = []

    async def watch() -> None:
        while True:
            worker = scene.deployment.worker()
            while worker.poll() is None:
                await asyncio.sleep(0.05)
            codes.append(worker.returncode)
            scene.log.add(Struck(fault="worker-crash", pids=(worker.pid,)))

    watching = asyncio.create_task(watch())
    try:
        yield codes
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


@pytest.mark.invariant("J7")
async def test_a_poisonous_job_among_fifty_ordinary_jobs(scene: Scene) -> None:
    """A worker that calls the poisonous job's model dies. The other jobs finish, only calls in
    flight are repeated, and the poisonous job fails after the last event that it reached. A retry
    continues from that event and succeeds.
    """
    poison = Work(TWICE, instead=dict.fromkeys(range(3, 50), Hang()))  # after its first run
    async with supervised_worker(scene) as codes:
        await scene.submit("poison", poison)
        names = [f"innocent-{number}" for number in range(INNOCENTS)]
        for name in names:
            await scene.submit(name, Work(seconds=0.3))
        for attempt in range(4):
            await scene.requests("poison", 3 + attempt, seconds=120)
            await kill_holder(scene, "poison")
            if await ended_or_calls_again(scene, "poison"):
                break
        poisoned_job = await scene.end("poison")
        assert (poisoned_job.status, poisoned_job.reason) == (Status.FAILED, Reason.POISONED), (
            poisoned_job
        )
        assert "run_finished (r1)" in poisoned_job.detail
        assert poisoned_job.attempts == 3
        assert codes == [-signal.SIGKILL] * 2  # the third attempt ran in its own process
        await scene.wait_for_success(*names, seconds=120)
        for name in names:
            calls = scene.work[name].calls
            kinds = await scene.event_kinds(name)
            assert (kinds.count("model_called"), kinds.count("run_finished")) == (calls, 1)
        retry_job = await retry_repaired(scene, "poison")
        job = await scene.deployment.until(scene.operations, retry_job)
        assert job.status is Status.SUCCEEDED, scene.deployment.logs()
        assert len(await scene.operations.store.charges(retry_job)) == poison.calls - 2
    await scene.judge()


async def kill_holder(scene: Scene, name: str) -> None:
    """Kill the process that has the job's lease, if it is a worker of the deployment or the job's
    own process.
    """
    pid = await scene.holder_pid(name)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    scene.log.add(Struck(fault="worker-crash", pids=(pid,)))


async def ended_or_calls_again(scene: Scene, name: str) -> bool:
    """Wait until the job ends or calls its model again. Returns whether it ended."""
    request_count = len(scene.requests_by_model[name])
    async with asyncio.timeout(120):
        while len(scene.requests_by_model[name]) == request_count:
            if (await scene.deployment.record_of(scene.operations, scene.ids[name])).status.final:
                return True
            await asyncio.sleep(0.05)
    return False


async def retry_repaired(scene: Scene, name: str) -> str:
    """Retry a job after its model was repaired. Returns the id of the new job."""
    scene.work[name] = Work(TWICE)
    started_at = Moment.now()
    retry_job = ok(await scene.operations.retry_as_new_job(scene.ids[name], by="ann"))
    scene.log.add(
        Retried(asked=started_at, status=202, job_id=scene.ids[name], retry_job=retry_job.id)
    )
    return retry_job.id


@pytest.mark.invariant("J7")
async def test_a_job_that_exceeds_its_workers_memory(scene: Scene) -> None:
    """Each reply of the model needs more memory than the worker's limit. The worker, or the job's
    own process, ends. The jobs of other workers finish, and only this job fails.
    """
    huge = Huge("x" * (448 * MIB))
    async with supervised_worker(scene) as codes, limited(scene, 320 * MIB):
        await scene.deployment.ready()
        names = [f"innocent-{number}" for number in range(SMALL)]
        for name in names:
            await scene.submit(name, Work(("import time; time.sleep(1)",), seconds=0.3))
        await scene.submit("greedy", Work(instead=dict.fromkeys(range(2, 50), huge)))
        greedy_job = await scene.end("greedy", seconds=120)
        assert greedy_job.status is Status.FAILED
        assert greedy_job.reason is Reason.POISONED, (greedy_job.detail, scene.deployment.logs())
        assert greedy_job.detail.endswith("after event 4, planned")
        await scene.wait_for_success(*names, seconds=120)
        assert codes
        assert all(code != 0 for code in codes)
    await scene.judge()


@contextlib.asynccontextmanager
async def limited(scene: Scene, more: int) -> AsyncIterator[None]:
    """Workers that may allocate at most this number of additional bytes once they are ready. The
    process of a job that runs alone inherits the limit.
    """
    done: set[int] = set()

    async def watch() -> None:
        while True:
            for pid in workers(scene) - done:
                limit_memory(pid, more)
                done.add(pid)
            await asyncio.sleep(0.02)

    watching = asyncio.create_task(watch())
    try:
        yield
        assert done
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def limit_memory(pid: int, more: int) -> None:
    """Allow a process this number of bytes of address space in addition to its present size."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + more
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def workers(scene: Scene) -> set[int]:
    """The live workers that have reported that they are ready."""
    return {
        worker.pid
        for worker in scene.deployment.workers
        if worker.poll() is None and f":{worker.pid}:" in scene.deployment.logs()
    }
