"""Reviews that take two approvals, in Redis: each vote counts once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.jobs.job_examples import JobService, job, lease_of, review

from jobs.model.people import person_key
from jobs.model.record import JobRecord, Status
from jobs.model.review import Action, Decision
from jobs.model.spec import ReviewRules
from jobs.transitions.lifecycle import Refusal
from jobs.view.inbox import Order


async def paused(service: JobService) -> JobRecord:
    running = await service.running(review=True, approvals=2)
    return job(await service.operations.pause(lease_of(running), review()))


def decision_of(by: str, action: Action = Action.APPROVE, **fields: str) -> Decision:
    return Decision("r1", action, by, key_id=f"k-{by}", **fields)


async def test_the_first_vote_is_kept_and_the_second_closes_the_review(service):
    record = await paused(service)
    service.hints.clear()
    voted = job(await service.operations.decide(record.id, decision_of("bob")))
    assert (await service.record(record.id)) == voted
    assert (voted.status, service.hints) == (Status.AWAITING_REVIEW, [])
    again = await service.operations.decide(record.id, decision_of("bob"))
    assert isinstance(again, Refusal)
    assert again.code == "voted_already"
    decided = job(await service.operations.decide(record.id, decision_of("cat")))
    assert (decided.status, [name for name, _ in service.hints]) == (Status.QUEUED, [record.id])
    assert (await service.kinds(record.id))[-2:] == ["voted", "decided"]


@pytest.mark.invariant("J10")
async def test_concurrent_votes_count_once_per_person_and_two_close_the_review(service):
    for _ in range(4):
        record = await paused(service)
        people = [f"p{number}" for number in range(4)] * 3
        answers = await asyncio.gather(
            *(service.operations.decide(record.id, decision_of(by)) for by in people)
        )
        applied = [by for by, answer in zip(people, answers, strict=True) if _applied(answer)]
        assert len(applied) == len(set(applied)) == 2
        after = await service.record(record.id)
        assert after.status is Status.QUEUED
        assert set(after.decision.by.split(" and ")) == set(applied)
        assert (await service.kinds(record.id)).count("decided") == 1


def _applied(answer: JobRecord | Refusal) -> bool:
    return isinstance(answer, JobRecord)


async def test_a_vote_can_be_withdrawn_and_given_again(service):
    record = await paused(service)
    for action in (Action.APPROVE, Action.WITHDRAW, Action.APPROVE):
        job(await service.operations.decide(record.id, decision_of("bob", action)))
    assert (await service.kinds(record.id))[-3:] == ["voted", "vote_withdrawn", "voted"]
    decided = job(await service.operations.decide(record.id, decision_of("cat")))
    assert decided.decision.by == "bob and cat"


@pytest.mark.invariant("J10")
async def test_of_a_withdrawal_and_a_second_vote_at_once_one_comes_first(service):
    for _ in range(6):
        record = await paused(service)
        job(await service.operations.decide(record.id, decision_of("bob")))
        withdrawn, _ = await asyncio.gather(
            service.operations.decide(record.id, decision_of("bob", Action.WITHDRAW)),
            service.operations.decide(record.id, decision_of("cat")),
        )
        after = await service.record(record.id)
        if _applied(withdrawn):
            assert [vote.by for vote in after.review.approvals] == ["cat"]
        else:
            assert after.status is Status.QUEUED


async def test_an_inbox_has_the_reviews_that_the_rules_let_a_person_approve(service):
    rules = ReviewRules(("payments",), (("Bob", "CODEOWNERS"),), {"@team": ("Cat",)})
    running = await service.running(review=True, review_rules=rules)
    opened = review()
    owners = [{"path": "a.py", "owners": ["@team"]}]
    opened = replace(opened, payload={**opened.payload, "owners": owners})
    ruled = job(await service.operations.pause(lease_of(running), opened))
    running = await service.running(review=True, review_rules=replace(rules, approvers=((),)))
    unowned = job(await service.operations.pause(lease_of(running), review()))
    free = await service.running(review=True)
    await service.operations.pause(lease_of(free), review())

    async def waits_for(person: str) -> set[str]:
        listed_keys = [person_key(person), f"name:{person.lower()}"]
        entries, _, _ = await service.store.inbox(ruled.tenant, listed_keys, Order.WAIT)
        page = await service.store.page(ruled.tenant, limit=9, offset=0, waits_for=listed_keys)
        assert {record.id for record in page.records} == {entry.job_id for entry in entries}
        return {entry.job_id for entry in entries}

    for person in ("Bob", "CAT"):
        assert await waits_for(person) == {ruled.id, unowned.id, free.id}
    assert await waits_for("Eve") == {unowned.id, free.id}, "a person has to send it back"
    job(await service.operations.decide(ruled.id, decision_of("bob")))
    assert await waits_for("Bob") == {unowned.id, free.id}
