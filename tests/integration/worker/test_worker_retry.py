"""A retry of a failed or cancelled job: it continues from the last step of that job."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.graph.recorded import Turn, answers, approves, calls, one_run, plans, runs, turn
from support.processes.deployment import MORTAL, Deployment, ok, running_deployment

from jobs.model.record import JobRecord, Reason, Status
from jobs.model.review import Action, Decision
from jobs.model.spec import JobSpec
from jobs.service import Operations


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path) as started_deployment:
        started_deployment.worker()
        yield started_deployment


async def test_a_retry_continues_after_the_paid_calls_and_runs(deployment: Deployment) -> None:
    slow = "import time\ntime.sleep(1.5)\nprint(open('a.txt').read())"
    turns = [
        plans("twice"),
        runs("twice", "open('a.txt', 'w').write('kept')\nprint('first')", 0),
        runs("first", slow, 1),
        answers("kept", "done", 2),
        approves("r2"),
    ]
    model = deployment.record("twice", turns)
    async with deployment.operations() as operations:
        first = await deployment.submit(operations, JobSpec("twice", model=model))
        await deployment.wait_for_event(operations, first, "model_called", times=3)
        ok(await operations.cancel(first, "test"))
        retry_job = ok(await operations.retry_as_new_job(first, by="test"))
        job = await deployment.until(operations, retry_job.id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        assert (job.attempts, job.spec.retry_of) == (1, first)
        event_kinds = await deployment.kinds(operations, retry_job.id)
        assert (event_kinds.count("planned"), event_kinds.count("run_finished")) == (1, 2)
        # the planner's call and the executor's first two belong to the first job; two calls
        # remained
        paid = await operations.store.charges(retry_job.id)
        assert sorted(charge.role for charge in paid) == ["critic", "executor"]
        assert event_kinds.count("model_called") == 5
        # a second retry, of a job that has itself inherited: only its end remains
        assert (await deployment.record_of(operations, first)).status is Status.CANCELLED


CALL = 110
"""Tokens of each call that is `priced`."""


def priced(turns: list[Turn]) -> list[Turn]:
    usage = {"input_tokens": 100, "output_tokens": 10}
    return [{**turn, "reply": {**turn["reply"], "usage": usage}} for turn in turns]


async def test_a_larger_budget_and_another_model_continue_the_pass(deployment: Deployment) -> None:
    first_replies = [
        plans("greet"),
        runs("greet", "print('hello')", 0),
        answers("hello", "never", 1),
    ]
    model = deployment.record("small", priced(first_replies))
    later_replies = [answers("hello", "it greets", 1), approves("r1")]
    large_recording = deployment.record("large", priced(later_replies))
    async with deployment.operations() as operations:
        spec = JobSpec("greet", model=model, max_tokens=2 * CALL)
        finished_job = await deployment.until(operations, await deployment.submit(operations, spec))
        assert (finished_job.status, finished_job.reason) == (
            Status.FAILED,
            Reason.BUDGET_EXHAUSTED,
        )
        more = replace(spec, model=large_recording, max_tokens=2 * CALL)
        retry_job = ok(await operations.retry_as_new_job(finished_job.id, more, by="test"))
        job = await deployment.until(operations, retry_job.id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        assert job.result is not None
        assert (job.result.answer, job.result.approved_by) == ("it greets", "critic")
        paid = await operations.store.charges(retry_job.id)
        assert {(charge.role, charge.model) for charge in paid} == {
            ("executor", large_recording),
            ("critic", large_recording),
        }
        assert (await deployment.kinds(operations, retry_job.id)).count("critiqued") == 1


async def test_a_longer_time_continues_the_pass(deployment: Deployment) -> None:
    waits = "import pathlib, time\ntime.sleep(8 * pathlib.Path('slow').exists())\nprint('second')"
    turns = [
        plans("twice"),
        runs("twice", "open('slow', 'w').close()\nprint('first')", 0),
        runs("first", waits, 1),
        runs("second", "print('third')", 2),
        answers("third", "done", 3),
        approves("r3"),
    ]
    async with deployment.operations() as operations:
        spec = JobSpec("twice", model=deployment.record("slow", turns), timeout_seconds=4)
        finished_job = await deployment.until(operations, await deployment.submit(operations, spec))
        assert (finished_job.reason, "retry" in finished_job.detail) == (Reason.DEADLINE, True), (
            finished_job.detail
        )
        longer = replace(spec, timeout_seconds=60)
        retry_job = ok(await operations.retry_as_new_job(finished_job.id, longer, by="test"))
        job = await deployment.until(operations, retry_job.id)
        assert job.status is Status.SUCCEEDED, deployment.logs()
        paid = await operations.store.charges(retry_job.id)
        assert sorted(charge.role for charge in paid) == ["critic", "executor", "executor"]


async def test_a_retry_changes_the_decider(deployment: Deployment) -> None:
    model = deployment.record("asks", priced(one_run("asks", "print('x')")))
    async with deployment.operations() as operations:
        spec = JobSpec("asks", model=model, max_tokens=3 * CALL)
        finished_job = await deployment.until(operations, await deployment.submit(operations, spec))
        # The budget did not suffice for the critic's call.
        assert finished_job.reason is Reason.BUDGET_EXHAUSTED
        reviewed = replace(spec, review=True)
        asks = ok(await operations.retry_as_new_job(finished_job.id, reviewed, by="test"))
        paused = await deployment.until(operations, asks.id, Status.AWAITING_REVIEW)
        assert paused.review is not None
        assert paused.review.payload["unproven"] is None
        ok(await operations.cancel(asks.id, "test"))
        judged = ok(await operations.retry_as_new_job(asks.id, spec, by="test"))
        job = await deployment.until(operations, judged.id)
        assert job.result is not None
        assert (job.status, job.result.approved_by) == (Status.SUCCEEDED, "critic")
        [paid] = await operations.store.charges(judged.id)
        assert paid.role == "critic"


async def test_a_rejected_job_restarts_and_asks_again(deployment: Deployment) -> None:
    model = deployment.record("asks", one_run("asks", "print('x')"))
    async with deployment.operations() as operations:
        spec = JobSpec("asks", model=model, review=True)
        first = await deployment.submit(operations, spec)
        paused = await deployment.until(operations, first, Status.AWAITING_REVIEW)
        decision = Decision(paused.review.id, Action.REJECT, "ann")
        assert ok(await operations.decide(first, decision)).reason is Reason.REJECTED
        retry_job = ok(await operations.retry_as_new_job(first, by="ann"))
        again = await deployment.until(operations, retry_job.id, Status.AWAITING_REVIEW)
        decision = Decision(again.review.id, Action.APPROVE, "ann")
        ok(await operations.decide(retry_job.id, decision))
        job = await deployment.until(operations, retry_job.id)
        assert (job.status, job.result.approved_by) == (Status.SUCCEEDED, "ann")
        assert len(await operations.store.charges(retry_job.id)) == len(
            await operations.store.charges(first)
        )


def reopened(deployment: Deployment, name: str) -> JobSpec:
    """A job that is sent back once. Its next revision would be correct, but the job has no further
    revision.
    """
    write = "open('a.txt', 'w').write('one')\nprint(open('a.txt').read())"
    again = "open('a.txt', 'w').write('two')\nprint(open('a.txt').read())"
    turns = [
        plans("say it"),
        runs("say it", write, 0),
        answers("one", "it says one", 1),
        turn("critic", "it says one", calls("Verdict", verdict="revise", feedback="say two")),
        runs("say two", again, 2),
        answers("two", "it says two", 3),
        turn(
            "critic", "it says two", calls("Verdict", verdict="approve", feedback="", runs=["r2"])
        ),
    ]
    return JobSpec("say it", model=deployment.record(name, turns), max_revisions=1)


async def unapproved(deployment: Deployment, operations: Operations, name: str) -> JobRecord:
    """The failed job, which nobody approved."""
    first = await deployment.submit(operations, reopened(deployment, name))
    finished_job = await deployment.until(operations, first)
    assert (finished_job.status, finished_job.reason) == (Status.FAILED, Reason.UNAPPROVED), (
        deployment.logs()
    )
    assert finished_job.result is not None
    assert finished_job.result.answer == "it says one"
    return finished_job


async def approved(
    deployment: Deployment, operations: Operations, retry_job: JobRecord
) -> JobRecord:
    """The retry has succeeded, and each of its events exists once."""
    job = await deployment.until(operations, retry_job.id)
    assert (job.status, job.reason) == (Status.SUCCEEDED, None), deployment.logs()
    assert job.result is not None
    assert (job.result.answer, job.result.approved_by) == ("it says two", "critic")
    event_kinds = await deployment.kinds(operations, retry_job.id)
    assert (event_kinds.count("planned"), event_kinds.count("critiqued")) == (1, 2)
    assert event_kinds.count("summarized") == 1
    paid = await operations.store.charges(retry_job.id)
    assert "planner" not in {charge.role for charge in paid}
    return job


async def test_a_retry_of_an_unapproved_job_continues_with_new_revisions(
    deployment: Deployment,
) -> None:
    async with deployment.operations() as operations:
        finished_job = await unapproved(deployment, operations, "reopened")
        retry_job = ok(await operations.retry_as_new_job(finished_job.id, by="test"))
        assert (retry_job.inherits, retry_job.workspace) == (
            finished_job.id,
            finished_job.workspace,
        )
        await approved(deployment, operations, retry_job)
        assert await deployment.record_of(operations, finished_job.id) == finished_job


async def test_a_person_may_review_the_next_revision_of_an_unapproved_job(
    deployment: Deployment,
) -> None:
    async with deployment.operations() as operations:
        finished_job = await unapproved(deployment, operations, "person")
        reviewed = replace(finished_job.spec, review=True)
        retry_job = ok(await operations.retry_as_new_job(finished_job.id, reviewed, by="test"))
        paused = await deployment.until(operations, retry_job.id, Status.AWAITING_REVIEW)
        assert paused.review is not None
        assert (paused.review.payload["answer"], paused.review.payload["revision"]) == (
            "it says two",
            2,
        )


async def test_after_a_crash_a_retry_does_not_use_its_parents_end(deployment: Deployment) -> None:
    async with deployment.operations() as operations:
        finished_job = await unapproved(deployment, operations, "cut")
        deployment.stop_workers()
        doomed = deployment.worker(fail_point="after_checkpoint:1", lease_seconds=MORTAL)
        retry_job = ok(await operations.retry_as_new_job(finished_job.id, by="test"))
        await asyncio.to_thread(doomed.wait, 60)
        deployment.worker()
        job = await approved(deployment, operations, retry_job)
        assert job.attempts == 2
