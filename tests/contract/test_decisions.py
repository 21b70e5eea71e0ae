"""Who decided what, in Redis."""

from __future__ import annotations

import asyncio

from support.jobs.job_examples import TENANT, decision, held, job, review

from jobs.model.review import Action, Decision
from jobs.retention import Retention, remove_finished
from jobs.store.decisions import decision_row


async def between(service, start: int = 0, end: int | None = None, limit: int = 9, offset: int = 0):
    until = await service.store.now() + 1 if end is None else end
    return await service.store.decisions.between(TENANT, start, until, limit=limit, offset=offset)


async def decided(service, **fields) -> str:
    record = await service.running(review=True)
    job(await service.operations.pause(held(record), review()))
    job(await service.operations.decide(record.id, decision(**fields)))
    return record.id


async def test_decisions_and_votes_are_found_by_their_time(service):
    first = await decided(service, feedback="fine", key_id="k1")
    await asyncio.sleep(0.002)  # what happens in one millisecond comes in any order
    running = await service.running(review=True, approvals=2)
    job(await service.operations.pause(held(running), review()))
    for by in ("cat", "dan"):
        vote = Decision("r1", Action.APPROVE, by, key_id=f"k-{by}")
        job(await service.operations.decide(running.id, vote))
    found, total = await between(service)
    rows = [decision_row(each, str(each.event.at)) for each in found]
    assert total == 3
    assert [(each["job_id"], each["kind"], each["by"]) for each in rows] == [
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
    assert found[0].event == events[found[0].event.seq - 1]
    at = found[1].event.at
    assert [each.job_id for each in (await between(service, at + 1))[0]].count(first) == 0
    assert (await between(service, 0, found[0].event.at))[1] == 0
    part, total = await between(service, limit=1, offset=1)
    assert ([each.event.kind for each in part], total) == (["voted"], 3)
    assert await service.store.decisions.between("other", 0, at, limit=9, offset=0) == ([], 0)


async def test_they_go_with_their_jobs(service):
    await decided(service, action=Action.REJECT, feedback="no")
    kept = await decided(service)

    assert await remove_finished(service.store, Retention(-60_000, 0)) == 1
    found, total = await between(service)
    assert ([each.job_id for each in found], total) == ([kept], 1)
