"""A job that failed or was cancelled, tried anew by intent: it goes on where that one stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.graph.recorded import answers, approves, calls, one_run, plans, runs, turn
from support.processes.deployment import MORTAL, House, a_house, ok

from jobs.operations import Operations
from jobs.record import JobRecord, Reason, Status
from jobs.review import Action, Decision
from jobs.spec import JobSpec


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path) as made:
        made.worker()
        yield made


async def test_it_goes_on_behind_what_was_paid_and_run(house: House) -> None:
    slow = "import time\ntime.sleep(1.5)\nprint(open('a.txt').read())"
    turns = [
        plans("twice"),
        runs("twice", "open('a.txt', 'w').write('kept')\nprint('first')", 0),
        runs("first", slow, 1),
        answers("kept", "done", 2),
        approves("r2"),
    ]
    model = house.record("twice", turns)
    async with house.operations() as operations:
        first = await house.submit(operations, JobSpec("twice", model=model))
        await house.told(operations, first, "model_called", times=3)
        ok(await operations.cancel(first, "test"))
        heir = ok(await operations.try_anew(first, by="test"))
        job = await house.until(operations, heir.id)
        assert job.status is Status.SUCCEEDED, house.logs()
        assert (job.attempts, job.spec.retry_of) == (1, first)
        told = await house.kinds(operations, heir.id)
        assert (told.count("planned"), told.count("run_finished")) == (1, 2)
        # the planner's call and the executor's first two are the first job's; two were left
        paid = await operations.store.charges(heir.id)
        assert sorted(charge.role for charge in paid) == ["critic", "executor"]
        assert told.count("model_called") == 5
        # once more, from a job that has itself inherited: nothing is left to do but the end
        assert (await house.record_of(operations, first)).status is Status.CANCELLED


async def test_a_job_cancelled_before_its_first_step_begins_at_its_start(house: House) -> None:
    model = house.record("simple", one_run("simple", "print('x')"))
    house.stop_workers()
    async with house.operations() as operations:
        first = await house.submit(operations, JobSpec("simple", model=model))
        ok(await operations.cancel(first, "test"))
        heir = ok(await operations.try_anew(first, by="test"))
        house.worker()
        job = await house.until(operations, heir.id)
        assert job.status is Status.SUCCEEDED, house.logs()


async def test_a_rejected_job_begins_anew_and_asks_again(house: House) -> None:
    model = house.record("asks", one_run("asks", "print('x')"))
    async with house.operations() as operations:
        spec = JobSpec("asks", model=model, review=True)
        first = await house.submit(operations, spec)
        paused = await house.until(operations, first, Status.AWAITING_REVIEW)
        decision = Decision(paused.review.id, Action.REJECT, "ann")
        assert ok(await operations.decide(first, decision)).reason is Reason.REJECTED
        heir = ok(await operations.try_anew(first, by="ann"))
        again = await house.until(operations, heir.id, Status.AWAITING_REVIEW)
        decision = Decision(again.review.id, Action.APPROVE, "ann")
        ok(await operations.decide(heir.id, decision))
        job = await house.until(operations, heir.id)
        assert (job.status, job.result.approved_by) == (Status.SUCCEEDED, "ann")
        assert len(await operations.store.charges(heir.id)) == len(
            await operations.store.charges(first)
        )


async def test_a_pause_that_was_cancelled_is_asked_anew(house: House) -> None:
    model = house.record("asks", one_run("asks", "print('x')"))
    async with house.operations() as operations:
        first = await house.submit(operations, JobSpec("asks", model=model, review=True))
        await house.until(operations, first, Status.AWAITING_REVIEW)
        ok(await operations.cancel(first, "ann"))
        heir = ok(await operations.try_anew(first, by="ann"))
        again = await house.until(operations, heir.id, Status.AWAITING_REVIEW)
        ok(await operations.decide(heir.id, Decision(again.review.id, Action.APPROVE, "ann")))
        assert (await house.until(operations, heir.id)).status is Status.SUCCEEDED
        assert len(await operations.store.charges(heir.id)) == 0


def reopened(house: House, name: str) -> JobSpec:
    """A job that is sent back once, and would be right at the next revision, which it has not."""
    write = "open('a.txt', 'w').write('one')\nprint(open('a.txt').read())"
    again = "open('a.txt', 'w').write('two')\nprint(open('a.txt').read())"
    turns = [
        plans("say it"),
        runs("say it", write, 0),
        answers("one", "it says one", 1),
        turn("critic", "it says one", calls("Verdict", verdict="revise", feedback="say two")),
        runs("say two", again, 2),
        answers("two", "it says two", 3),
        turn("critic", "it says two", calls("Verdict", verdict="approve", feedback="", run="r2")),
    ]
    return JobSpec("say it", model=house.record(name, turns), max_revisions=1)


async def unapproved(house: House, operations: Operations, name: str) -> JobRecord:
    """The job as it has failed."""
    first = await house.submit(operations, reopened(house, name))
    ended = await house.until(operations, first)
    assert (ended.status, ended.reason) == (Status.FAILED, Reason.UNAPPROVED), house.logs()
    assert ended.result is not None
    assert ended.result.answer == "it says one"
    return ended


async def approved(house: House, operations: Operations, heir: JobRecord) -> JobRecord:
    """The heir as it has succeeded, each of its facts told once."""
    job = await house.until(operations, heir.id)
    assert (job.status, job.reason) == (Status.SUCCEEDED, None), house.logs()
    assert job.result is not None
    assert (job.result.answer, job.result.approved_by) == ("it says two", "critic")
    told = await house.kinds(operations, heir.id)
    assert (told.count("planned"), told.count("critiqued")) == (1, 2)
    assert told.count("summarized") == 1
    paid = await operations.store.charges(heir.id)
    assert "planner" not in {charge.role for charge in paid}
    return job


async def test_an_unapproved_job_goes_on_from_its_end_with_fresh_revisions(house: House) -> None:
    async with house.operations() as operations:
        ended = await unapproved(house, operations, "reopened")
        heir = ok(await operations.try_anew(ended.id, by="test"))
        assert (heir.inherits, heir.workspace) == (ended.id, ended.workspace)
        await approved(house, operations, heir)
        assert await house.record_of(operations, ended.id) == ended


@pytest.mark.parametrize(
    "point", ["after_checkpoint:1", "before_checkpoint:2", "after_checkpoint:2", "before_end"]
)
async def test_a_crash_does_not_take_the_parents_end_for_its_own(house: House, point: str) -> None:
    async with house.operations() as operations:
        ended = await unapproved(house, operations, "cut")
        house.stop_workers()
        doomed = house.worker(fail_point=point, lease_seconds=MORTAL)
        heir = ok(await operations.try_anew(ended.id, by="test"))
        await asyncio.to_thread(doomed.wait, 60)
        house.worker()
        job = await approved(house, operations, heir)
        assert job.attempts == 2
