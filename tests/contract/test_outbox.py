"""The outbox is written together with its event, and one sender at a time delivers messages."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import get_args

import pytest
from support.jobs.job_examples import RESULT, TENANT, JobService, decision, job, lease_of, review

from jobs.audit.entries import Actor
from jobs.model.review import Action
from jobs.model.spec import JobSpec
from jobs.service import Operations
from jobs.store.credentials import Credentials
from jobs.store.outbox import HEAD_MESSAGE, MESSAGE_TYPES, TASK_LENGTH, MessageType
from jobs.store.webhooks import Webhook
from jobs.transitions.lifecycle import Policy
from worker.egress.chat import TITLES


@pytest.fixture
def service(store) -> JobService:
    """Operations that write into the outbox."""
    job_service = JobService(store)
    hint = job_service.hints.append
    job_service.operations = Operations(store, lambda *each: hint(each), Policy(), webhooks=True)
    return job_service


def test_every_type_of_message_can_be_chosen() -> None:
    assert {*MESSAGE_TYPES.values(), HEAD_MESSAGE} == set(get_args(MessageType)) == set(TITLES)


async def waiting_types(service) -> list[str]:
    waiting, total = await service.store.outbox.waiting(100)
    assert total == len(waiting)
    return sorted(message.type for message in waiting)


async def cancelled_job(service, tenant: str = TENANT) -> str:
    submitted = await service.operations.submit(tenant, JobSpec("add 1 and 1"), by="ann")
    record = await service.claim(submitted.record.id)
    job(await service.operations.succeed(lease_of(record), RESULT, "did it"))
    return record.id


async def test_deliveries_are_written_with_the_change(service):
    record = await service.running()
    assert await waiting_types(service) == []
    job(await service.operations.pause(lease_of(record), review()))
    assert await waiting_types(service) == ["review.opened"]
    await service.operations.decide(record.id, decision("r-other"))
    assert await waiting_types(service) == ["review.opened"], "a refusal tells nothing"
    job(await service.operations.decide(record.id, decision(feedback="well done")))
    again = await service.claim(record.id)
    job(await service.operations.succeed(lease_of(again), RESULT, "did it"))
    assert await waiting_types(service) == ["job.finished", "review.decided", "review.opened"]
    (decided,) = [
        message for message in (await service.store.outbox.waiting(9))[0] if "dec" in message.type
    ]
    assert (decided.job_id, decided.data["by"]) == (record.id, "bob")
    assert (decided.data["feedback"], decided.data["status"]) == ("well done", "queued")


async def test_a_message_says_whether_the_evidence_was_overridden(service):
    record = await service.running(review=True)
    job(await service.operations.pause(lease_of(record), review(unproven="nothing has been run")))
    approval = decision(override=True, feedback="It is a text.")
    job(await service.operations.decide(record.id, approval))
    again = await service.claim(record.id)
    overridden = replace(RESULT, approved_by="bob", override=True)
    job(await service.operations.succeed(lease_of(again), overridden, ""))
    waiting, _ = await service.store.outbox.waiting(9)
    assert {message.type: message.data["override"] for message in waiting} == {
        "review.opened": False,
        "review.decided": True,
        "job.finished": True,
    }


async def test_a_message_describes_the_job_and_the_evidence_of_its_open_review(service):
    task = f"\n  {'add ' * 60}\nthe second line"
    record = await service.running(task=task, review=True)
    job(await service.operations.pause(lease_of(record), review(unproven="nothing has been run")))
    approval = decision(override=True, feedback="It is a text.", person="Bob Ray")
    job(await service.operations.decide(record.id, approval))
    waiting, _ = await service.store.outbox.waiting(9)
    data = {message.type: message.data for message in waiting}
    for message_data in data.values():
        assert message_data["task"].startswith("add add ")
        assert (len(message_data["task"]), message_data["task"][-1]) == (TASK_LENGTH, "…")
        names = message_data["submitted_by"], message_data["submitted_by_person"]
        assert names == ("ann", "ann")
    verdict = {"level": "grey", "reason": "Nothing ran"}
    assert data["review.opened"]["verdict"] == verdict
    assert data["review.decided"]["verdict"] is None
    assert data["review.decided"]["evidence"].items() >= verdict.items()


async def test_a_withdrawn_vote_is_announced(service):
    record = await service.running(review=True, approvals=2)
    job(await service.operations.pause(lease_of(record), review()))
    for action in (Action.APPROVE, Action.WITHDRAW):
        job(await service.operations.decide(record.id, decision(action=action)))
    assert await waiting_types(service) == ["review.approved", "review.opened", "review.withdrawn"]


async def test_without_an_address_no_message_is_written(store):
    await cancelled_job(JobService(store))
    assert await store.outbox.waiting(9) == ([], 0)


async def test_the_messages_of_a_change_are_leased_together_in_their_order(service):
    for _ in range(8):
        record = await service.running(review=True)
        job(await service.operations.pause(lease_of(record), review()))
        (opened,) = await service.store.outbox.lease(9, 60_000)
        await service.store.outbox.delivered(opened)
        job(await service.operations.decide(record.id, decision(action=Action.REJECT)))
        messages = await service.store.outbox.lease(1, 60_000)
        assert [message.type for message in messages] == ["review.decided", "job.finished"]
        for message in messages:
            assert await service.store.outbox.fail(message, "no", None)


async def test_a_tenants_webhooks_get_their_messages(store, service):
    writer = Credentials(store.redis)
    hooks = [
        Webhook("https://a.example", "slack", [], [], [], id="all"),
        Webhook("https://b.example", "slack", [], ["bank"], ["job.finished"], id="bank"),
        Webhook("https://c.example", "slack", [], ["shop"], [], id="shop"),
    ]
    for hook in hooks:
        assert await writer.add_webhook(TENANT, hook, Actor("ann"))
    assert await writer.add_webhook("other", hooks[0], Actor("bob"))
    assert await store.webhooks.of_tenant(TENANT) == {hook.id: hook for hook in hooks}
    service.operations = Operations(store, lambda *_: None, Policy())  # the operator has none
    record = await service.running(labels=("bank",))
    job(await service.operations.pause(lease_of(record), review()))
    job(await service.operations.decide(record.id, decision(action=Action.REJECT)))
    waiting, _ = await store.outbox.waiting(9)
    assert sorted((message.webhook, message.type) for message in waiting) == [
        ("all", "job.finished"),
        ("all", "review.decided"),
        ("all", "review.opened"),
        ("bank", "job.finished"),
    ]
    assert len({message.id for message in waiting}) == 4


async def test_concurrent_changes_make_each_delivery_once(service):
    record = await service.running()
    job(await service.operations.pause(lease_of(record), review()))
    await asyncio.gather(*(service.operations.decide(record.id, decision()) for _ in range(5)))
    assert await waiting_types(service) == ["review.decided", "review.opened"]


async def test_a_message_is_taken_by_one_sender_only(service):
    job_service = {await cancelled_job(service) for _ in range(6)}
    leased = await asyncio.gather(*(service.store.outbox.lease(4, 60_000) for _ in range(5)))
    names = [message.job_id for part in leased for message in part]
    assert sorted(names) == sorted(job_service)
    assert all(message.tries == 1 for part in leased for message in part)
    assert await service.store.outbox.lease(9, 60_000) == []


async def test_a_tenant_with_many_messages_leaves_slots_to_others(service):
    busy = {await cancelled_job(service) for _ in range(8)}
    quiet = await cancelled_job(service, "quiet")
    outbox = service.store.outbox
    first = await outbox.lease(6, 60_000)
    assert [message.tenant for message in first] == [TENANT] * 3 + ["quiet"]
    assert first[-1].job_id == quiet
    assert await outbox.lease(2, 60_000, {TENANT: 3, "quiet": 1}) == []
    more = await outbox.lease(5, 60_000, {TENANT: 3})
    assert [message.tenant for message in more] == [TENANT]
    assert {message.job_id for message in (*first[:3], *more)} < busy


async def test_a_message_behind_many_others_is_found(service, monkeypatch):
    monkeypatch.setattr("jobs.store.outbox.LOOKED_AT", 4)
    busy = {await cancelled_job(service) for _ in range(10)}
    quiet = await cancelled_job(service, "quiet")
    found: list[str] = []
    while quiet not in found:
        found += [m.job_id for m in await service.store.outbox.lease(2, 60_000, {TENANT: 2})]
    assert found == [quiet]
    while len(found) < 11:
        found += [m.job_id for m in await service.store.outbox.lease(9, 60_000)]
    assert set(found) == {quiet, *busy}


async def test_an_arrived_message_is_removed_and_a_failed_one_is_sent_again(service):
    await cancelled_job(service), await cancelled_job(service)
    outbox = service.store.outbox
    first, second = await outbox.lease(9, 60_000)
    await outbox.delivered(first)
    assert await outbox.fail(second, "it answered 500", 0)
    (again,) = await outbox.lease(9, 60_000)
    assert (again.id, again.tries, again.error) == (second.id, 2, "it answered 500")
    assert not await outbox.fail(second, "late", 0), "another has it by now"
    await outbox.delivered(second)
    assert await outbox.waiting(9) == ([], 0), "it has arrived, by either outbox"
    assert not await outbox.fail(again, "late", 0)


async def test_a_dead_message_stays_listed_and_can_be_sent_again(service):
    await cancelled_job(service)
    outbox = service.store.outbox
    (leased,) = await outbox.lease(9, 60_000)
    assert await outbox.fail(leased, "it answered 410", None)
    assert await outbox.waiting(9) == ([], 0)
    (dead,), total = await outbox.dead(9)
    assert (dead.id, dead.error, total) == (leased.id, "it answered 410", 1)
    assert await outbox.requeue(dead.id)
    assert not await outbox.requeue(dead.id)
    (again,) = await outbox.lease(9, 60_000)
    assert (again.id, again.tries) == (leased.id, 1)
