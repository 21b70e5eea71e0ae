"""A job that failed or was cancelled, tried anew by intent: it goes on where that one stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from house import House, a_house, ok
from recorded import answers, approves, one_run, plans, runs

from jobs.record import Reason, Status
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
