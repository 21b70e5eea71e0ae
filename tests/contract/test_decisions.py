"""The record of decisions and their persons, in Redis."""

from __future__ import annotations

import asyncio

from support.jobs.job_examples import TENANT, decision, job, lease_of, review

from jobs.model.review import Action, Decision
from jobs.retention import Retention, remove_finished
from jobs.store.decisions import decision_row


async def between(service, start: int = 0, end: int | None = None, limit: int = 9, offset: int = 0):
    until = await service.store.now() + 1 if end is None else end
    return await service.store.decisions.between(TENANT, start, until, limit=limit, offset=offset)


async def decided(service, **fields) -> str:
    record = await service.running(review=True)
    job(await service.operations.pause(lease_of(record), review()))
    job(await service.operations.decide(record.id, decision(**fields)))
    return record.id


async def test_decisions_and_votes_are_found_by_their_time(service):
    first = await decided(service, feedback="fine", key_id="k1")
    await asyncio.sleep(0.002)  # events of the same millisecond have no fixed order
    running = await service.running(review=True, approvals=2)
    job(await service.operations.pause(lease_of(running), review()))
    for by in ("cat", "dan"):
        vote = Decision("r1", Action.APPROVE, by, key_id=f"k-{by}")
        job(await service.operations.decide(running.id, vote))
    decisions, total, _ = await between(service)
    rows = [decision_row(decision, str(decision.event.at)) for decision in decisions]
    assert total == 3
    assert [(decision["job_id"], decision["kind"], decision["by"]) for decision in rows] == [
        (first, "decided", "bob"),
        (running.id, "voted", "cat"),
        (running.id, "decided", "dan"),
    ]
    assert (rows[0]["feedback"], rows[0]["key_id"], rows[0]["digest_named"]) == (
        "fine",
        "k1",
        False,
    )
    assert rows[2]["approvals"] == "cat and dan"
    events = await service.store.events(first)
    assert decisions[0].event == events[decisions[0].event.seq - 1]
    at = decisions[1].event.at
    assert [decision.job_id for decision in (await between(service, at + 1))[0]].count(first) == 0
    assert (await between(service, 0, decisions[0].event.at))[1] == 0
    part, total, following = await between(service, limit=1, offset=1)
    assert ([decision.event.kind for decision in part], total) == (["voted"], 3)
    assert following is not None
    assert await service.store.decisions.between("other", 0, at, limit=9, offset=0) == ([], 0, None)


async def test_a_withdrawn_vote_is_listed(service):
    running = await service.running(review=True, approvals=2)
    job(await service.operations.pause(lease_of(running), review()))
    for action in (Action.APPROVE, Action.WITHDRAW):
        vote = Decision("r1", action, "cat", key_id="k-cat")
        job(await service.operations.decide(running.id, vote))
    rows = [decision_row(decision, "") for decision in (await between(service))[0]]
    assert [(row["kind"], row["action"]) for row in rows] == [
        ("voted", "approve"),
        ("vote_withdrawn", "withdraw"),
    ]
    assert rows[0]["evidence"] == "amber: No verification is on record"


async def test_decisions_are_removed_with_their_jobs(service):
    await decided(service, action=Action.REJECT, feedback="no")
    decided_rows = await decided(service)

    assert await remove_finished(service.store, Retention(-60_000, 0)) == 1
    decisions, total, _ = await between(service)
    assert ([decision.job_id for decision in decisions], total) == ([decided_rows], 1)
