"""Upgrades: a review asks a person about checkpoints of an earlier release.

A worker of this release starts a job and stops. The test then changes the format in the job's
record.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from redis.asyncio import Redis
from support.graph.recorded import answers, approves, one_run, plans, runs
from support.processes.deployment import Deployment, ok
from support.processes.preloaded import REPOSITORY, Process
from support.processes.scene import KILL, Scene, processes, until, waits_for_signal

from agents.graph.checkpoint_format import READS, WRITES
from jobs.blobs import manifest
from jobs.model.record import JobRecord, Reason, Status
from jobs.model.review import Action, Decision, ReviewKind
from jobs.model.spec import JobSpec
from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.service import Operations
from jobs.transitions.lifecycle import Refusal
from jobs.transitions.upgrade import EXTRA_HINTS_AFTER_CRASH, HINTS_BEFORE_REVIEW
from jobs.view.job import render_job
from lab.drills.chaos.checks.checkpoints import UNREAD
from lab.drills.chaos.oplog import Decided, Moment, Repaired, Retried, Struck, Submitted

NEXT = 9
"""The format of a future release that also reads the present format."""
MARK = "waits-in-a-mixed-fleet"
PATIENT = {"lease_seconds": "15", "run_seconds": "300"}
"""Settings of a worker that keeps its job and its run, however busy the machine is."""
PAUSED, KILLED = "paused", "killed"
BEFORE = 3
"""A format that no release reads any more."""
TASK, FEEDBACK = "Write the numbers from one to three to a file.", "The three is missing."
FIRST = "open('n.txt', 'w').write('1 2')\nprint('wrote two')"
SECOND = "open('n.txt', 'a').write(' 3')\nprint(open('n.txt').read())"
TURNS = [
    plans("one to three"),
    runs("one to three", FIRST, 0),
    answers("wrote two", "Two numbers are there.", 1),
    runs(FEEDBACK, SECOND, 2),
    answers("1 2 3", "All three are there.", 3),
    {**approves("r1"), "expect": "(revision 1)"},
    {**approves("r2"), "expect": "(revision 2)"},
]


@pytest.mark.invariant("J13")
@pytest.mark.parametrize("job_state", [PAUSED, KILLED])
async def test_a_person_decides_about_checkpoints_of_an_earlier_release(
    scene: Scene, job_state: str
) -> None:
    """In one case a person has decided about the paused job; in the other, its worker was killed.
    The job starts again with the present graph and keeps its charges.
    """
    deployment, operations = scene.deployment, scene.operations
    job_id = await abandon_job(scene, job_state)
    if job_state == PAUSED:
        paused_job = await deployment.record_of(operations, job_id)
        await decide(scene, paused_job, Action.REVISE, feedback=FEEDBACK)
    paid = len(await operations.store.charges(job_id))
    job = await park_job(scene, job_id, f"{BEFORE} 0.0.1")
    assert job.review is not None
    assert job.review.kind is ReviewKind.UPGRADE
    assert job.review.payload["found"]["format"] == BEFORE
    assert f"graph format {BEFORE}" in job.review.payload["reason"]
    assert len(await operations.store.charges(job.id)) == paid

    await decide(scene, job, Action.APPROVE)
    if job_state == PAUSED:
        await deployment.wait_for_event(operations, job.id, "answered", times=2)
        job = await deployment.until(operations, job.id, Status.AWAITING_REVIEW)
        await decide(scene, job, Action.DELEGATE)
    job = await deployment.until(operations, job.id)
    assert job.status is Status.SUCCEEDED, deployment.logs()
    assert job.graph is not None
    assert job.graph.number == WRITES
    assert await output_files(deployment, job) == {"n.txt": b"1 2"}
    assert len(await operations.store.charges(job.id)) == paid + 4
    await scene.judge()


@pytest.mark.invariant("J9")
@pytest.mark.invariant("J10")
async def test_a_job_that_no_worker_reads_is_parked_and_restarts_after_approval(
    scene: Scene,
) -> None:
    deployment, operations = scene.deployment, scene.operations
    job = await park_job(scene, await abandon_job(scene, KILLED))
    assert job.review is not None
    assert (job.review.kind, job.lease) == (ReviewKind.UPGRADE, None)
    reason = job.review.payload["reason"]
    assert f"graph format {NEXT}, by Fettle 9.0.0" in reason
    assert "approve" in reason
    assert "start a worker of Fettle 9.0.0" in reason
    edit = Decision(job.review.id, Action.EDIT, "ann", code="print(1)")
    refused = await operations.decide(job.id, edit)
    assert isinstance(refused, Refusal)
    assert refused.code == "not_offered"
    assert await deployment.record_of(operations, job.id) == job
    paid = await operations.store.charges(job.id)
    stale = await manifest.save(deployment.blobs, {"stale.txt": b"of the run that is given up"})
    async with Redis.from_url(deployment.redis_url) as redis:
        await redis.hset(JobKeys(job.id).record, "workspace", stale or "")  # type: ignore[misc]

    await decide(scene, job, Action.APPROVE)
    job = await deployment.until(operations, job.id)
    assert job.status is Status.SUCCEEDED, deployment.logs()
    assert job.graph is not None
    assert job.graph.number == WRITES
    events, charges = await events_of(operations, job.id)
    rendered_job = render_job(job, events, charges, job.updated_at)
    assert ([run["id"] for run in rendered_job["runs"]], len(rendered_job["critiques"])) == (
        ["r1"],
        1,
    )
    assert rendered_job["cost"]["total"]["calls"] == len(paid) + 4
    kinds = [event.kind for event in events]
    assert (kinds.count("run_finished"), kinds.count("begun_anew")) == (2, 1)
    assert await output_files(deployment, job) == {"n.txt": b"1 2"}
    await scene.judge()


@pytest.mark.parametrize(
    "stored", [b"msgpack \xc1\xff", b"pickled \x80"], ids=["damaged", "unknown"]
)
async def test_a_review_names_a_checkpoint_that_cannot_be_decoded(
    scene: Scene, stored: bytes
) -> None:
    """If a checkpoint is damaged or has an unknown type, the review names the checkpoint, and no
    data is removed before a person decides.
    """
    deployment, operations = scene.deployment, scene.operations
    job_id = await abandon_job(scene, KILLED)
    async with Redis.from_url(deployment.redis_url) as redis:
        damaged = [
            key
            async for key in redis.scan_iter(match="fettle:checkpoint*", _type="hash")
            if await redis.hexists(key, "c")  # type: ignore[misc]
        ]
        for key in damaged:
            await redis.hset(key, "c", stored)  # type: ignore[arg-type, misc]
        assert damaged
        scene.log.add(Struck(fault=UNREAD, jobs=(job_id,)))
        deployment.worker()
        paid = len(await operations.store.charges(job_id))
        for times in (1, 2):
            await deployment.wait_for_event(operations, job_id, "review_opened", times=times)
            job = await deployment.until(operations, job_id, Status.AWAITING_REVIEW)
            assert job.review is not None
            assert job.review.kind is ReviewKind.UPGRADE
            location = job.review.payload["place"]
            assert location.startswith("checkpoint ")
            assert location in job.review.payload["reason"]
            assert [await redis.hget(key, "c") for key in damaged] == [stored] * len(damaged)  # type: ignore[misc]
            action = Action.DELEGATE if times == 1 else Action.APPROVE
            await decide(scene, job, action)
        job = await deployment.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        assert await output_files(deployment, job) == {"n.txt": b"1 2"}
        assert len(await operations.store.charges(job.id)) == paid + 4
    await scene.judge()


async def test_a_rejected_job_ends_as_incompatible_and_can_be_retried(
    scene: Scene,
) -> None:
    deployment, operations = scene.deployment, scene.operations
    job = await park_job(scene, await abandon_job(scene, KILLED))
    rejected_job = await decide(scene, job, Action.REJECT, feedback="too old")
    assert (rejected_job.status, rejected_job.reason) == (Status.FAILED, Reason.INCOMPATIBLE)
    assert rejected_job.detail == "too old"
    started_at = Moment.now()
    retry_job = ok(await operations.retry_as_new_job(job.id, by="ann"))
    scene.log.add(Retried(asked=started_at, status=202, job_id=job.id, retry_job=retry_job.id))
    assert retry_job.inherits is None
    job = await deployment.until(operations, retry_job.id)
    assert (job.status, job.attempts) == (Status.SUCCEEDED, 1), deployment.logs()
    await scene.judge()


async def test_a_parked_job_can_be_delegated_to_a_worker_that_reads_it(
    scene: Scene, tmp_path: Path
) -> None:
    """A person does not have to repeat a decision that was made before the upgrade."""
    deployment, operations = scene.deployment, scene.operations
    job_id = await abandon_job(scene, PAUSED)
    parked_job = await deployment.record_of(operations, job_id)
    await decide(scene, parked_job, Action.APPROVE)
    job = await park_job(scene, job_id)
    worker = newer_worker(deployment, tmp_path)
    await deployment.ready(2)
    await decide(scene, job, Action.DELEGATE)
    job = await deployment.until(operations, job_id)
    assert job.status is Status.SUCCEEDED, deployment.logs()
    assert job.result is not None
    assert job.result.approved_by == "ann"
    *_, last = await scene.holders(job.id)
    assert last == worker.pid
    await scene.judge()


async def test_in_a_mixed_fleet_jobs_go_to_workers_that_read_them(
    scene: Scene, tmp_path: Path
) -> None:
    """An older worker never takes a job of a newer worker, even while the newer worker is stopped.
    A newer worker continues the jobs of an older worker.
    """
    deployment, operations = scene.deployment, scene.operations
    spec = JobSpec(
        "waits", model=deployment.record("waits", one_run("waits", waits_for_signal(MARK)))
    )
    newer = newer_worker(deployment, tmp_path)
    await deployment.ready(seconds=90)
    newer_job = await deployment.submit(operations, spec)
    accepted(scene, newer_job)
    await until(lambda: bool(processes(MARK)), 60, deployment.logs)
    # otherwise a person is asked after some 15 s, and an interpreter may take longer to start
    reads = {"graph": {"writes": NEXT, "reads": sorted({*READS, NEXT})}}
    await operations.store.announce("elsewhere", reads, 600)
    scene.kill(newer, last=True)
    await until(lambda: not processes(MARK))
    older = deployment.worker(drain_seconds="1", **PATIENT)
    await deployment.until(operations, newer_job, Status.QUEUED)
    while "job left to a worker that reads it" not in deployment.logs():
        assert (await deployment.record_of(operations, newer_job)).status is Status.QUEUED
        await asyncio.sleep(0.1)
    older_job = await deployment.submit(operations, spec)
    accepted(scene, older_job)
    await until(lambda: bool(processes(MARK)), 60, deployment.logs)
    again = newer_worker(deployment, tmp_path, **PATIENT)
    await deployment.ready(3, seconds=90)
    older.send_signal(signal.SIGTERM)
    await until(lambda: older.poll() is not None, 60, deployment.logs)
    scene.log.add(Repaired(fault=KILL))
    telling = asyncio.create_task(release_runs())
    for job_id, first in ((newer_job, newer), (older_job, older)):
        job = await deployment.until(operations, job_id, seconds=60)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        assert "review_opened" not in await deployment.kinds(operations, job_id)
        assert await scene.holders(job_id) == [first.pid, again.pid]
    telling.cancel()
    await scene.judge()


async def release_runs() -> None:
    """Let every run that waits for its file end."""
    while True:
        for run in processes(MARK):
            with contextlib.suppress(ProcessLookupError):
                os.kill(run, signal.SIGUSR1)
        await asyncio.sleep(0.1)


def newer_worker(deployment: Deployment, folder: Path, **settings: str) -> Process:
    """Start a worker of a release with the next graph format."""
    release = folder / "release"
    if not release.exists():
        for package in ("agents", "jobs", "sandbox", "settings", "worker"):
            shutil.copytree(REPOSITORY / package, release / package)
        (release / ".venv").symlink_to(REPOSITORY / ".venv")
        path = release / "agents" / "graph" / "checkpoint_format.py"
        written = path.read_text().replace(f"WRITES = {WRITES}", f"WRITES = {NEXT}")
        assert written != path.read_text()
        path.write_text(f"{written}READS = frozenset({sorted({*READS, NEXT})})\n")
    return deployment.worker(release=release, **settings)


async def abandon_job(scene: Scene, job_state: str) -> str:
    """Run a job until it waits for a person, or until its worker is killed after one run."""
    deployment, operations = scene.deployment, scene.operations
    worker = deployment.worker(**({"fail_point": "after_journal:3"} if job_state == KILLED else {}))
    spec = JobSpec(TASK, model=deployment.record("left", TURNS), review=job_state == PAUSED)
    job_id = await deployment.submit(operations, spec)
    accepted(scene, job_id)
    if job_state == PAUSED:
        await deployment.until(operations, job_id, Status.AWAITING_REVIEW)
        deployment.stop_workers()
        return job_id
    await scene.died(worker)
    async with Redis.from_url(deployment.redis_url) as redis:
        past = await operations.store.now() - 1
        await redis.hset(JobKeys(job_id).record, "due_at", past)  # type: ignore[arg-type, misc]
        await redis.zadd(keys.DUE, {job_id: past})
    await operations.sweep()
    return job_id


def accepted(scene: Scene, job_id: str) -> None:
    scene.log.add(Submitted(asked=Moment.now(), status=202, key=job_id, body=job_id, job_id=job_id))


async def park_job(scene: Scene, job_id: str, graph: str = f"{NEXT} 9.0.0") -> JobRecord:
    """Let a worker park the job, after its checkpoints got the format `graph`, which it cannot
    read.
    """
    deployment, operations = scene.deployment, scene.operations
    async with Redis.from_url(deployment.redis_url) as redis:
        key = JobKeys(job_id).record
        state = json.loads(await redis.hget(key, "state"))  # type: ignore[arg-type, misc]
        # the job has first waited for a worker that reads its format
        state["hints"] = HINTS_BEFORE_REVIEW + EXTRA_HINTS_AFTER_CRASH
        await redis.hset(key, mapping={"state": json.dumps(state), "graph": graph})  # type: ignore[misc]
    scene.log.add(Struck(fault=UNREAD, jobs=(job_id,)))
    deployment.worker()
    scene.log.add(Repaired(fault=KILL))
    return await deployment.until(operations, job_id, Status.AWAITING_REVIEW)


async def decide(scene: Scene, job: JobRecord, action: Action, **more: str) -> JobRecord:
    assert job.review is not None
    started_at, review = Moment.now(), job.review.id
    decided = ok(await scene.operations.decide(job.id, Decision(review, action, "ann", **more)))
    entry = Decided(asked=started_at, status=202, job_id=job.id, review_id=review, action=action)
    scene.log.add(entry)
    return decided


async def events_of(operations: Operations, job_id: str):  # type: ignore[no-untyped-def]
    """The events and charges of a job."""
    return await operations.store.events(job_id), await operations.store.charges(job_id)


async def output_files(deployment: Deployment, job: JobRecord) -> dict[str, bytes]:
    """The output files of the job."""
    files = (await manifest.load(deployment.blobs, job.workspace)).files
    return {path: await deployment.blobs.get(entry.digest) for path, entry in files.items()}
