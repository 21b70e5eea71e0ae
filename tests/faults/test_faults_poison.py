"""A job that kills its worker, by its memory or otherwise, fails; the other jobs finish."""

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
    """A reply with a short repr, so that a failing test does not print it."""

    def __repr__(self) -> str:
        return "Huge()"


@contextlib.asynccontextmanager
async def kept_alive(scene: Scene) -> AsyncIterator[list[int]]:
    """A worker for the length of the block: a dead one is replaced, as a supervisor would. Yields
    the exit codes of those that died."""
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
async def test_one_that_kills_its_worker_among_fifty_innocents(scene: Scene) -> None:
    """A worker that calls the poison's model dies. The other jobs finish, only calls in flight are
    repeated, and the poison fails with the last event that it reached. A retry continues from that
    event and succeeds."""
    poison = Work(TWICE, instead=dict.fromkeys(range(3, 50), Hang()))  # after its first run
    async with kept_alive(scene) as codes:
        await scene.submit("poison", poison)
        names = [f"innocent-{number}" for number in range(INNOCENTS)]
        for name in names:
            await scene.submit(name, Work(seconds=0.3))
        for attempt in range(4):
            await scene.requests("poison", 3 + attempt, seconds=120)
            await strike(scene, "poison")
            if await over(scene, "poison"):
                break
        poisoned_job = await scene.end("poison")
        assert (poisoned_job.status, poisoned_job.reason) == (Status.FAILED, Reason.POISONED), (
            poisoned_job
        )
        assert "run_finished (r1)" in poisoned_job.detail
        assert poisoned_job.attempts == 3
        assert codes == [-signal.SIGKILL] * 2  # the third time it had a process of its own
        await scene.wait_for_success(*names, seconds=120)
        for name in names:
            calls = scene.work[name].calls
            kinds = await scene.event_kinds(name)
            assert (kinds.count("model_called"), kinds.count("run_finished")) == (calls, 1)
        retry_job = await anew(scene, "poison")
        job = await scene.deployment.until(scene.operations, retry_job)
        assert job.status is Status.SUCCEEDED, scene.deployment.logs()
        assert len(await scene.operations.store.charges(retry_job)) == poison.calls - 2
    await scene.judge()


async def strike(scene: Scene, name: str) -> None:
    """Kill the process that holds a job, if it is a worker of the deployment or the job's own."""
    pid = await scene.holder_pid(name)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    scene.log.add(Struck(fault="worker-crash", pids=(pid,)))


async def over(scene: Scene, name: str) -> bool:
    """Wait until the job ends or calls its model again; return whether it ended."""
    request_count = len(scene.requests_by_model[name])
    async with asyncio.timeout(120):
        while len(scene.requests_by_model[name]) == request_count:
            if (await scene.deployment.record_of(scene.operations, scene.ids[name])).status.final:
                return True
            await asyncio.sleep(0.05)
    return False


async def anew(scene: Scene, name: str) -> str:
    """Retry a job after its model was repaired; return the id of the new job."""
    scene.work[name] = Work(TWICE)
    started_at = Moment.now()
    retry_job = ok(await scene.operations.retry_as_new_job(scene.ids[name], by="ann"))
    scene.log.add(
        Retried(asked=started_at, status=202, job_id=scene.ids[name], retry_job=retry_job.id)
    )
    return retry_job.id


@pytest.mark.invariant("J7")
async def test_one_that_takes_its_workers_memory(scene: Scene) -> None:
    """A model answers with more than the worker's memory limit allows, each time. That worker, or
    the job's own process, ends; the others' jobs finish, and the job fails: it alone."""
    huge = Huge("x" * (448 * MIB))
    async with kept_alive(scene) as codes, limited(scene, 320 * MIB):
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
    """Each ready worker may take at most that many more bytes.

    The process of a job that runs alone inherits the limit.
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
    """Let a process have that many bytes of address space more than it has."""
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
