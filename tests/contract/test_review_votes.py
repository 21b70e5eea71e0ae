"""Reviews that take two approvals, in Redis: each vote counts once."""

from __future__ import annotations

import asyncio

import pytest
from support.jobs.job_examples import House, held, job, review

from jobs.model.record import JobRecord, Status
from jobs.model.review import Action, Decision
from jobs.transitions.lifecycle import Refusal


async def paused(house: House) -> JobRecord:
    running = await house.running(review=True, approvals=2)
    return job(await house.operations.pause(held(running), review()))


def said(by: str, action: Action = Action.APPROVE, **fields: str) -> Decision:
    return Decision("r1", action, by, key_id=f"k-{by}", **fields)


async def test_the_first_vote_is_kept_and_the_second_closes_the_review(house):
    record = await paused(house)
    house.hints.clear()
    voted = job(await house.operations.decide(record.id, said("bob")))
    assert (await house.record(record.id)) == voted
    assert (voted.status, house.hints) == (Status.AWAITING_REVIEW, [])
    again = await house.operations.decide(record.id, said("bob"))
    assert isinstance(again, Refusal)
    assert again.code == "voted_already"
    decided = job(await house.operations.decide(record.id, said("cat")))
    assert (decided.status, [name for name, _ in house.hints]) == (Status.QUEUED, [record.id])
    assert (await house.kinds(record.id))[-2:] == ["voted", "decided"]


@pytest.mark.invariant("J10")
async def test_of_many_votes_at_once_each_person_has_one_and_two_close_it(house):
    for _ in range(4):
        record = await paused(house)
        people = [f"p{number}" for number in range(4)] * 3
        answers = await asyncio.gather(
            *(house.operations.decide(record.id, said(by)) for by in people)
        )
        applied = [by for by, answer in zip(people, answers, strict=True) if _applied(answer)]
        assert len(applied) == len(set(applied)) == 2
        after = await house.record(record.id)
        assert after.status is Status.QUEUED
        assert set(after.decision.by.split(" and ")) == set(applied)
        assert (await house.kinds(record.id)).count("decided") == 1


@pytest.mark.invariant("J10")
async def test_a_vote_and_a_revision_at_once_leave_nothing_half_done(house):
    for _ in range(4):
        record = await paused(house)
        await asyncio.gather(
            house.operations.decide(record.id, said("bob")),
            house.operations.decide(record.id, said("cat", Action.REVISE, feedback="more")),
        )
        after = await house.record(record.id)
        assert (after.status, after.decision.action) == (Status.QUEUED, Action.REVISE)
        running = await house.claim(record.id)
        opened = job(await house.operations.pause(held(running), review("r2")))
        assert opened.review.approvals == ()


def _applied(answer: JobRecord | Refusal) -> bool:
    return isinstance(answer, JobRecord)
