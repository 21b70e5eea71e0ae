"""Jobs through real worker processes: Redis, Celery, graph and sandbox, with a recorded model."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import answers, calls, one_run, plans, runs, turn
from support.processes.deployment import TENANT, Deployment, ok, running_deployment
from support.servers import redis_servers

from jobs.blobs import manifest
from jobs.model.record import Reason, Status
from jobs.model.review import Action, Decision
from jobs.model.spec import JobSpec
from jobs.redis.keys import JobKeys


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path) as started_deployment:
        yield started_deployment


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment with one worker, for tests that do not change it."""
    with running_deployment(tmp_path_factory.mktemp("deployment")) as started_deployment:
        started_deployment.worker()
        yield started_deployment
        assert started_deployment.stop_workers() == [0]


async def test_a_job_runs_through_a_complete_deployment(shared: Deployment) -> None:
    code = "open('out.txt', 'w').write('42')\nprint('forty-two')"
    model = shared.record(
        "simple", one_run("print 42", code, result_text="forty-two", answer="It is 42.")
    )
    async with shared.operations() as operations:
        job_id = await shared.submit(operations, JobSpec(task="print 42", model=model))
        job = await shared.until(operations, job_id)
        assert job.status is Status.SUCCEEDED, shared.logs()
        assert job.result is not None
        assert job.result.answer == "It is 42."
        assert job.result.approved_by == "critic"
        assert [artifact["name"] for artifact in job.result.artifacts] == ["out.txt"]
        files = await manifest.load(shared.blobs, job.workspace)
        assert await shared.blobs.get(files.files["out.txt"].digest) == b"42"
        assert await shared.kinds(operations, job_id) == [
            "submitted",
            "started",
            "model_called",
            "planned",
            "model_called",
            "run_finished",
            "model_called",
            "answered",
            "verified",
            "model_called",
            "critiqued",
            "summarized",
            "succeeded",
        ]
        charges = await operations.store.charges(job_id)
        assert sorted(charge.role for charge in charges) == [
            "critic",
            "executor",
            "executor",
            "planner",
        ]


@pytest.mark.invariant("J9")
async def test_a_review_survives_every_process_and_another_worker_continues(
    deployment: Deployment,
) -> None:
    model = deployment.record("reviewed", one_run("ask me", "print('seen')", result_text="seen"))
    deployment.worker()
    async with deployment.operations() as operations:
        spec = JobSpec(task="ask me", model=model, review=True)
        job_id = await deployment.submit(operations, spec)
        paused = await deployment.until(operations, job_id, Status.AWAITING_REVIEW)
        assert paused.review is not None
        assert paused.lease is None
        assert paused.review.payload["answer"] == "done"
    deployment.stop_workers(signal.SIGKILL)
    deployment.server.kill()
    with redis_servers.start(deployment.server.binary, deployment.redis_folder, tcp=True) as server:
        deployment.server = server
        async with deployment.operations() as operations:
            decision = Decision(paused.review.id, Action.APPROVE, "ann")
            ok(await operations.decide(job_id, decision))
            deployment.worker()
            job = await deployment.until(operations, job_id)
            assert job.status is Status.SUCCEEDED
            assert job.result is not None
            assert job.result.approved_by == "ann"
            assert job.attempts == 2
            event_kinds = await deployment.kinds(operations, job_id)
            assert event_kinds.count("run_finished") == 1
            assert "critiqued" not in event_kinds
        deployment.stop_workers()


async def test_a_person_sends_work_back_and_edits_it(shared: Deployment) -> None:
    turns = [
        plans("a greeting"),
        runs("a greeting", "print('helo')", 0),
        answers("helo", "Says helo.", 1),
        runs("spell it right", "print('hello')", 2),
        answers("hello", "Says hello.", 3),
    ]
    model = shared.record("sent-back", turns)
    async with shared.operations() as operations:
        spec = JobSpec(task="a greeting", model=model, review=True)
        job_id = await shared.submit(operations, spec)
        first = await shared.until(operations, job_id, Status.AWAITING_REVIEW)
        assert first.review is not None
        revise = Decision(first.review.id, Action.REVISE, "ann", feedback="spell it right")
        ok(await operations.decide(job_id, revise))
        second = await shared.until(operations, job_id, Status.AWAITING_REVIEW)
        assert second.review is not None
        assert second.review.id != first.review.id
        assert second.review.payload["code"] == "print('hello')"
        edit = Decision(second.review.id, Action.EDIT, "ann", code="print('hello, world')")
        ok(await operations.decide(job_id, edit))
        third = await shared.until(operations, job_id, Status.AWAITING_REVIEW)
        assert third.review is not None
        latest = third.review.payload["runs"][-1]
        assert latest["by"] == "ann"
        assert latest["stdout"]["text"] == "hello, world\n"
        digest = await shared.blobs.put(b"hello\n")
        files = {"greeting.txt": digest}
        write = Decision(third.review.id, Action.EDIT, "ann", files=files)
        ok(await operations.decide(job_id, write))
        fourth = await shared.until(operations, job_id, Status.AWAITING_REVIEW)
        assert fourth.review is not None
        assert fourth.review.payload["decisions"][-1]["files"] == files
        assert fourth.review.payload["artifacts"][-1]["digest"] == digest
        work = await manifest.load(shared.blobs, fourth.workspace)
        assert work.files["greeting.txt"].digest == digest
        words = {"override": True, "feedback": "I have read the document."}
        approval = Decision(fourth.review.id, Action.APPROVE, "bob", **words)
        ok(await operations.decide(job_id, approval))
        job = await shared.until(operations, job_id)
        assert job.result is not None
        assert job.result.approved_by == "bob"


@pytest.mark.invariant("J11")
async def test_cancel_kills_the_run_and_is_final(shared: Deployment) -> None:
    model = shared.record("long", one_run("wait", "import time; time.sleep(14)"))
    async with shared.operations() as operations:
        job_id = await shared.submit(operations, JobSpec(task="wait", model=model))
        async with asyncio.timeout(20):
            while (await shared.kinds(operations, job_id)).count("model_called") < 2:
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        ok(await operations.cancel(job_id, "ann"))
        async with asyncio.timeout(8):  # long before the run would end by itself
            while f'"{job_id}", "event": "attempt stopped"' not in shared.logs():
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        loaded = await operations.store.load(job_id)
        assert loaded is not None
        assert loaded.record.status is Status.CANCELLED
        assert "run_finished" not in await shared.kinds(operations, job_id)


async def test_a_conversation_runs_in_order_and_passes_its_files_on(shared: Deployment) -> None:
    words = "  ann (approve): Dates stay ISO.\n  Outcome: done Files: notes.txt."
    turns = [
        *one_run(
            "The task:\n\nfirst part",
            "open('notes.txt', 'w').write('one')",
            result_text="notes.txt",
        ),
        plans(words),
        runs(words, "print('found', open('notes.txt').read())", 0),
        answers("found one", "read them", 1),
    ]
    model = shared.record("conversation", turns)
    async with shared.operations() as operations:
        spec = JobSpec(task="first part", model=model, review=True, conversation_id="talk")
        first = await shared.submit(operations, spec)
        paused = await shared.until(operations, first, Status.AWAITING_REVIEW)
        follow_up = JobSpec(task="second part", model=model, conversation_id="talk")
        second = await shared.submit(operations, follow_up)
        await asyncio.sleep(1)
        waiting = await operations.store.load(second)
        assert waiting is not None
        assert waiting.record.status is Status.QUEUED
        assert paused.review is not None
        decision = Decision(paused.review.id, Action.APPROVE, "ann", feedback="Dates stay ISO.")
        ok(await operations.decide(first, decision))
        job = await shared.until(operations, second)
        assert job.status is Status.SUCCEEDED, shared.logs()
        turns_told = await operations.store.conversation(TENANT, "talk", 3)
        assert [turn.task for turn in turns_told] == ["second part", "first part"]
        assert "notes.txt" in (await manifest.load(shared.blobs, job.workspace)).files
        assert job.start is not None
        assert (await manifest.load(shared.blobs, job.start)).files.keys() == {"notes.txt"}
        kept_blobs = await operations.store.redis.smembers(JobKeys(second).blobs)
        assert job.start.encode() in kept_blobs


async def test_running_time_is_limited_and_the_best_result_is_kept(shared: Deployment) -> None:
    turns = [
        plans("too long"),
        runs("too long", "print('a beginning')", 0),
        answers("a beginning", "half an answer", 1),
        turn("critic", "", calls("Verdict", verdict="revise", feedback="go on", runs=["r1"])),
        runs("go on", "import time; time.sleep(14)", 2),
    ]
    model = shared.record("overdue", turns)
    async with shared.operations() as operations:
        spec = JobSpec(task="too long", model=model, timeout_seconds=5)
        job = await shared.until(operations, await shared.submit(operations, spec))
        assert job.status is Status.FAILED
        assert job.reason is Reason.DEADLINE
        assert job.result is not None
        assert job.result.answer == "half an answer"


async def test_a_worker_and_its_attempts_survive_a_restart_of_redis(deployment: Deployment) -> None:
    model = deployment.record("again", one_run("again", "import time; time.sleep(1.5); print('x')"))
    spec = JobSpec(task="again", model=model)
    worker = deployment.worker(lease_seconds="8")
    async with deployment.operations() as operations:
        during = await deployment.submit(operations, spec)
        await deployment.wait_for_event(operations, during, "model_called", times=2)
    deployment.server.kill()
    await asyncio.sleep(2)  # the run ends while Redis is unavailable
    with deployment.restart_redis():
        async with deployment.operations() as operations:
            job = await deployment.until(operations, during)
            assert (job.status, job.attempts) == (Status.SUCCEEDED, 1), deployment.logs()
            assert (await deployment.kinds(operations, during)).count("run_finished") == 1
            after = await deployment.until(
                operations, await deployment.submit(operations, spec), seconds=40
            )
            assert after.status is Status.SUCCEEDED
        assert worker.poll() is None
    stopping = time.monotonic()
    # The worker also ends in order while Redis is unavailable.
    assert deployment.stop_workers() == [0]
    assert time.monotonic() - stopping < 12


@pytest.mark.invariant("J8")
async def test_a_worker_that_starts_during_an_outage_of_redis_waits(
    deployment: Deployment,
) -> None:
    """Earlier, the worker ended and loaded everything again, and the process of a lone job was lost
    with its job.
    """
    model = deployment.record("late", one_run("late", "print('x')"))
    deployment.server.kill()
    worker = deployment.worker()
    async with asyncio.timeout(60):
        while "worker waits for Redis" not in deployment.logs():
            assert worker.poll() is None, deployment.logs()
            await asyncio.sleep(0.02)
    with deployment.restart_redis():
        await deployment.ready(seconds=60)
        async with deployment.operations() as operations:
            job_id = await deployment.submit(operations, JobSpec(task="late", model=model))
            assert (await deployment.until(operations, job_id)).status is Status.SUCCEEDED
        assert worker.poll() is None
