"""If a worker is killed, another worker continues its jobs and repeats no finished call or run."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest
from support.processes.preloaded import Process
from support.processes.scene import TWICE, Scene, Work, a_scene, processes, sleeps, until

from jobs.blobs import manifest
from jobs.model.record import Status
from jobs.model.review import Action, Decision
from lab.provider import Hang, Refusal

AT_ONCE = 3
"""The number of deployments that run at the same time; most of their time is waiting."""
SAID = '"status": "succeeded"'
"""The log message of a worker after the end of a job."""


@pytest.mark.invariant("J13")
@pytest.mark.parametrize("number", [1, 2, 4])
async def test_a_kill_during_a_model_call(scene: Scene, number: int) -> None:
    """Only the interrupted call is repeated: a call of the planner, of the executor, or after a
    run.
    """
    scene.deployment.worker()
    scene.deployment.worker()
    await scene.deployment.ready(2)
    work = Work(TWICE, seconds=0.4)
    await scene.submit("called", work)
    await scene.requests("called", number)
    scene.kill(await scene.holder("called"))
    await scene.wait_for_success("called")
    assert len(scene.requests_by_model["called"]) == work.calls + 1
    kinds = await scene.event_kinds("called")
    assert (kinds.count("model_called"), kinds.count("run_finished")) == (work.calls, 2)
    verdict = await scene.judge()
    assert (verdict.repeated_in_flight, verdict.repeated_paid_calls) == (1, 0)
    assert len(verdict.recoveries) == 1


@pytest.mark.invariant("J14")
async def test_a_kill_during_a_run(scene: Scene) -> None:
    """No call is repeated. The run is repeated on the files before it, and the old run has
    ended.
    """
    seconds = "3.1415926"
    scene.deployment.worker()
    scene.deployment.worker()
    await scene.deployment.ready(2)
    second = "open('n', 'a').write('2'); " + sleeps(seconds)
    work = Work((TWICE[0], second))
    job_id = await scene.submit("ran", work)
    await until(lambda: len(processes(seconds)) == 1, show_details=scene.deployment.logs)
    (sandbox,) = processes(seconds)
    scene.kill(await scene.holder("ran"))
    await until(lambda: sandbox not in processes(seconds), 2)
    await scene.wait_for_success("ran")
    assert len(scene.requests_by_model["ran"]) == work.calls
    assert (await scene.event_kinds("ran")).count("run_finished") == 2
    assert await output_of_runs(scene, job_id) == b"12"
    assert not processes(seconds)
    verdict = await scene.judge()
    assert verdict.repeated_in_flight == verdict.repeated_paid_calls == 0


async def test_a_kill_between_a_hint_and_its_claim(scene: Scene) -> None:
    """The hint is lost with the worker, and the sweeper sends another hint. No attempt is
    counted.
    """
    doomed = scene.deployment.worker(fail_point="before_claim")
    await scene.submit("hinted")
    await scene.died(doomed)
    loaded = await scene.deployment.record_of(scene.operations, scene.ids["hinted"])
    assert (loaded.status, loaded.attempts) == (Status.QUEUED, 0)
    await scene.replace_worker()
    await scene.wait_for_success("hinted")
    assert (await scene.end("hinted")).attempts == 1
    await scene.check_paid_once("hinted")
    await scene.judge()


@pytest.mark.invariant("J5")
@pytest.mark.invariant("J12")
@pytest.mark.parametrize("written", ["checkpoint", "journal", "claim", "pause", "release", "end"])
@pytest.mark.timeout(600)
async def test_a_kill_before_and_after_each_write(tmp_path: Path, written: str) -> None:
    """At each write, one worker dies and another continues the job."""
    gate = asyncio.Semaphore(AT_ONCE)
    sides = ("before", "after")
    counts = await asyncio.gather(
        *(interrupt_repeatedly(tmp_path, f"{side}_{written}", gate) for side in sides)
    )
    least = {"checkpoint": 10, "journal": 7, "claim": 2}
    assert min(counts) >= least.get(written, 1)  # each point interrupted the job
    assert max(counts) - min(counts) <= 1


async def interrupt_repeatedly(folder: Path, point: str, gate: asyncio.Semaphore) -> int:
    """Interrupt a job each time that it reaches the point. Returns the number of interruptions."""
    reached = 0
    for first in itertools.count(1, AT_ONCE):
        numbers = range(first, first + AT_ONCE)
        tries = [
            interrupt_job(folder / f"{point}-{number}", f"{point}:{number}", gate)
            for number in numbers
        ]
        reached += sum(results := await asyncio.gather(*tries))
        if not all(results):
            return reached
    raise AssertionError


async def interrupt_job(folder: Path, point: str, gate: asyncio.Semaphore) -> bool:
    """Run a job with two runs and a review. Returns whether its first worker died at the point."""
    async with gate, a_scene(folder) as scene:
        doomed = scene.deployment.worker(fail_point=point, retry_seconds="0.2")
        # an outage releases the job once
        work = Work(TWICE, instead={1: Refusal(503)} if "release" in point else {})
        job_id = await scene.submit("cut", work, review=True)
        asking = asyncio.create_task(delegate(scene, job_id))
        if not await died_at_its_point(scene, doomed, job_id):
            await asking
            return False
        await scene.died(doomed)
        await scene.replace_worker()
        await asyncio.wait_for(asking, 60)
        await scene.wait_for_success("cut")
        assert await output_of_runs(scene, job_id) == b"12"
        kinds = await scene.event_kinds("cut")
        calls, runs = kinds.count("model_called"), kinds.count("run_finished")
        assert (calls, runs, kinds.count("review_opened")) == (work.calls, 2, 1), kinds
        assert len(scene.requests_by_model["cut"]) <= work.calls + 1, point
        assert len(await scene.operations.store.charges(job_id)) == work.calls
        await scene.judge()
        return True


@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_kill_while_a_dead_workers_job_is_released(scene: Scene, side: str) -> None:
    """The sweeper dies while it revokes the lease. The job continues and counts one crash."""
    first = scene.deployment.worker()
    await scene.submit("swept", Work(TWICE, instead={2: Hang()}))
    await scene.requests("swept", 2)
    scene.deployment.worker(fail_point=f"{side}_release")
    await scene.deployment.ready(2)
    assert (await scene.holder("swept")).pid == first.pid
    scene.kill(first)
    await scene.died(scene.deployment.workers[-1])
    await scene.replace_worker()
    await scene.wait_for_success("swept")
    kinds = await scene.event_kinds("swept")
    assert (kinds.count("lease_lost"), kinds.count("run_finished")) == (1, 2)
    verdict = await scene.judge()
    assert verdict.repeated_paid_calls == 0


async def died_at_its_point(scene: Scene, doomed: Process, job_id: str) -> bool:
    """Whether the worker reaches its fail point before the job's end, or directly after it."""
    while doomed.poll() is None:
        if (await scene.deployment.record_of(scene.operations, job_id)).status.final:
            # the worker logs the end, unless it dies first
            await until(lambda: doomed.poll() is not None or SAID in scene.deployment.logs())
            return doomed.poll() is not None
        await asyncio.sleep(0.02)
    return True


async def delegate(scene: Scene, job_id: str) -> None:
    """Decide the only review: the critic shall decide."""
    paused = await scene.deployment.until(
        scene.operations, job_id, Status.AWAITING_REVIEW, seconds=90
    )
    assert paused.review is not None
    await scene.operations.decide(job_id, Decision(paused.review.id, Action.DELEGATE, "ann"))


async def output_of_runs(scene: Scene, job_id: str) -> bytes:
    """The text that the runs of the job wrote to the file `n`."""
    record = await scene.deployment.record_of(scene.operations, job_id)
    files = await manifest.load(scene.deployment.blobs, record.workspace)
    return await scene.deployment.blobs.get(files.files["n"].digest)
