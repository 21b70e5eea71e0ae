"""The promises of the store, on every Redis server of this machine."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.jobs.job_examples import (
    NOW,
    RESULT,
    TENANT,
    JobService,
    job,
    lease_of,
    queued,
    review,
)

from jobs.errors import Contended, StaleEpoch, StoreUnavailable
from jobs.model.events import NewEvent
from jobs.model.record import Cause, Reason, Status
from jobs.model.spec import JobSpec, Priority
from jobs.store import Charge, ConversationEntry, Existing, Idempotency, LeaseRef, Writes
from jobs.store import events as store_events
from jobs.transitions import lifecycle
from jobs.transitions.lifecycle import Change


def charge(call: str, cost: str | None = "0.01") -> Charge:
    return Charge(call, "critic", "groq:llama", 10, 20, cost)


def progress_event(name: str) -> NewEvent:
    return NewEvent(name, "summarized", {"text": name})


async def created(store, job_id: str, tenant: str = TENANT, at: int = NOW, **fields):
    spec = JobSpec("add", **fields)
    change = lifecycle.submit(job_id, tenant, spec, at, by="ann", request_id="")
    assert await store.create(change) is None
    return change.after


async def test_a_new_job_is_restored_unchanged(store):
    record = await created(store, "j1", labels=("a", "b"), steps=("one", "two"), workspace="d" * 64)
    loaded = await store.load("j1")
    assert loaded.record == record
    assert abs(loaded.now - await store.now()) < 60_000
    [event] = await store.events("j1")
    assert (event.seq, event.kind, event.data["task"]) == (1, "submitted", "add")
    assert (await store.counts())[Status.QUEUED] == 1
    assert await store.next_in_line(TENANT, "j1") == "j1"


@pytest.mark.parametrize("name", ["SET", "FLUSHALL", "set", "HSETX", ""])
async def test_a_step_with_an_unlisted_command_writes_no_data(store, name):
    service = JobService(store)
    record = await service.running()
    events = await store.events(record.id)
    writes = Writes(
        events=(progress_event("late"),),
        journal={"late": b"1"},
        commands=(("HSET", "fettle:checkpoint:late", "field", "1"), (name, "fettle:late", "1")),
    )
    with pytest.raises(StoreUnavailable, match="no command"):
        await store.write(record.id, record.epoch, writes)
    assert await store.events(record.id) == events
    assert await store.journal(record.id) == {}
    assert not await store.redis.exists("fettle:checkpoint:late", "fettle:late")


async def test_an_existing_id_is_refused_without_a_write(store):
    first = await created(store, "j1")
    other_job = lifecycle.submit("j1", TENANT, JobSpec("other"), NOW, by="eve", request_id="")
    with pytest.raises(Contended):
        await store.create(other_job)
    with pytest.raises(Contended):
        await store.create(other_job, Idempotency("key", "body"))
    assert (await store.load("j1")).record == first
    assert len(await store.events("j1")) == 1
    assert (await store.counts())[Status.QUEUED] == 1


@pytest.mark.invariant("J2")
async def test_an_idempotency_key_means_its_first_job_within_its_tenant(store):
    key = Idempotency("key", "body")
    assert await store.create(Change(queued("j1")), key) is None
    assert await store.create(Change(queued("j2")), key) == Existing("j1", "body")
    assert await store.create(Change(queued("j2")), Idempotency("key", "b")) == Existing(
        "j1", "body"
    )
    assert await store.load("j2") is None
    elsewhere = replace(queued("j3"), tenant="other")
    assert await store.create(Change(elsewhere), key) is None


async def test_no_name_of_a_tenant_reaches_the_keys_of_another(store):
    for job_id, tenant, conversation in (
        ("j1", "a", "b:c"),
        ("j2", "a:b", "c"),
        ("j3", "a%3Ab", "c"),
    ):
        await created(store, job_id, tenant, conversation_id=conversation)
        assert await store.next_in_line(tenant, conversation) == job_id
    for tenant, job_id in (("a", "j1"), ("a:b", "j2"), ("a%3Ab", "j3")):
        page = await store.page(tenant, limit=9, offset=0, status=None, label=None)
        assert [record.id for record in page.records] == [job_id]
    hidden = await store.page("a:label", limit=9, offset=0, status=None, label=None)
    assert hidden.total == 0


async def test_a_commit_on_an_old_version_writes_no_data(service, store):
    running = await service.running()
    paused = job(await service.operations.pause(lease_of(running), review()))
    assert paused.due_at == running.due_at  # so that only the version differs
    before = await store.events(running.id)
    assert not await store.commit(running, lifecycle.cancel(running, NOW, by="ann"))
    assert await store.events(running.id) == before
    assert await service.record(running.id) == paused
    assert (await store.counts())[Status.CANCELLED] == 0
    assert await store.next_in_line(TENANT, running.id) == running.id


@pytest.mark.invariant("J7")
async def test_progress_during_the_expiry_of_a_lease_counts(store):
    service = JobService(store, lease_ms=1)
    running = await service.claim((await service.submit()).id, alone=True)
    await asyncio.sleep(0.01)
    record = await service.record(running.id)
    poisoned = lifecycle.expire(record, await store.now())
    assert isinstance(poisoned, Change)
    assert poisoned.after.reason is Reason.POISONED
    await store.write(running.id, running.epoch, Writes(journal={"call": b"done"}))
    assert not await store.commit(record, poisoned)
    assert await service.operations.sweep() == 1
    again = await service.record(running.id)
    assert (again.status, again.crashes) == (Status.QUEUED, 1)


async def a_line(store):
    """Three jobs of one conversation that do not become due during the test."""
    lease_end = await store.now() + 60_000
    return [await created(store, f"j{n}", at=lease_end, conversation_id="c") for n in range(3)]


async def test_the_end_of_the_head_makes_the_next_job_due_at_once(service, store):
    head, second, third = await a_line(store)
    assert await store.due(10) == []
    third = await service.record(third.id)
    job(await service.operations.cancel(head.id, "ann"))
    assert await store.due(10) == [second.id]
    moved = await service.record(second.id)
    assert moved.due_at <= await store.now()
    assert moved.version == second.version
    assert (await service.record(third.id)) == third


async def test_the_writes_of_an_attempt_are_atomic(service, store):
    running = await service.running()
    writes = Writes(
        events=(progress_event("one"), progress_event("two")),
        journal={"call": b"\x00\xff"},
        charges=(charge("c1"), charge("c2", None)),
        workspace="f" * 64,
    )
    await store.write(running.id, 1, writes)
    assert await service.kinds(running.id) == ["submitted", "started", "summarized", "summarized"]
    assert await store.journal(running.id) == {"call": b"\x00\xff"}
    assert {paid.call: paid for paid in await store.charges(running.id)} == {
        "c1": charge("c1"),
        "c2": charge("c2", None),
    }
    record = await service.record(running.id)
    assert record == replace(running, workspace="f" * 64, progress_epoch=1)


@pytest.mark.invariant("J5")
async def test_events_of_an_attempts_work_carry_its_epoch(service, store):
    first = await service.running()
    await store.write(first.id, 1, Writes((progress_event("one"),)))
    job(await service.operations.requeue(lease_of(first), "", Cause.STOPPING))
    await service.claim(first.id)
    heard = asyncio.create_task(store.wait_events(first.id, 5, 5))
    await asyncio.sleep(0.05)
    await store.write(first.id, 2, Writes((progress_event("one"), progress_event("two"))))
    stored_events = [(event.kind, event.epoch) for event in await store.events(first.id)]
    expected_events = [("submitted", None), ("started", None)]
    again = [("given_back", None), ("started", None), ("summarized", 2)]
    assert stored_events == [*expected_events, ("summarized", 1), *again]
    assert [event.epoch for event in await heard] == [2]


@pytest.mark.parametrize("epoch", [0, 2])
@pytest.mark.invariant("J5")
async def test_a_write_of_another_epoch_is_refused_but_its_charges_are_kept(service, store, epoch):
    running = await service.running()
    writes = Writes((progress_event("x"),), {"call": b"1"}, (charge("c1"),), "f" * 64)
    with pytest.raises(StaleEpoch):
        await store.write(running.id, epoch, writes)
    assert await service.record(running.id) == running
    assert await service.kinds(running.id) == ["submitted", "started"]
    assert await store.journal(running.id) == {}
    assert await store.charges(running.id) == [charge("c1")]


@pytest.mark.invariant("J12")
async def test_an_event_is_stored_once_and_numbers_have_no_gaps(service, store):
    running = await service.running()
    await store.write(
        running.id, 1, Writes((progress_event("a"), progress_event("a"), progress_event("b")))
    )
    await store.write(running.id, 1, Writes((progress_event("b"), progress_event("c"))))
    events = await store.events(running.id)
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]
    assert [event.data["text"] for event in events[2:]] == ["a", "b", "c"]
    assert await store.events(running.id, 3) == events[3:]
    assert await store.events(running.id, 5) == []
    assert await store.events(running.id, -1) == events


async def test_a_wait_ends_with_the_first_event_or_after_its_time(service, store, monkeypatch):
    # an event wakes the readers, so they do not poll
    monkeypatch.setattr(store_events, "POLL_SECONDS", 60)
    record = await service.submit()
    assert await store.wait_events(record.id, 1, 0.02) == []
    waits = [asyncio.create_task(store.wait_events(record.id, 1, 60)) for _ in range(3)]
    await asyncio.sleep(0.02)
    await service.claim(record.id)
    async with asyncio.timeout(20):
        for results in await asyncio.gather(*waits):
            assert [event.kind for event in results] == ["started"]


async def test_a_reader_misses_no_event_from_any_position(service, store):
    running = await service.running()
    assert await store.wait_events(running.id, 2, 0.01) == []
    for number in range(30):
        events = tuple(progress_event(f"{number}-{part}\n") for part in range(1 + number % 3))
        await store.write(running.id, 1, Writes(events))
    everything = await store.events(running.id)
    for after in range(len(everything)):
        results = await store.wait_events(running.id, after, 5)
        assert list(results) == everything[after : after + len(results)]
        assert results
    assert await store.wait_events(running.id, len(everything), 0.01) == []


async def test_a_renewal_extends_leases_and_names_lost_leases(service, store):
    first, second = await service.running(), await service.running()
    job(await service.operations.cancel(second.id, "ann"))
    old = LeaseRef(first.id, first.epoch - 1)
    lost = await store.renew([old, lease_of(first), lease_of(second)], 60_000)
    assert lost == [old, lease_of(second)]
    renewed = await service.record(first.id)
    assert renewed.lease.until == renewed.due_at
    assert renewed.due_at - await store.now() > 50_000
    assert renewed.version == first.version
    assert await store.renew([], 60_000) == []


async def test_the_lease_of_an_overdue_job_is_not_renewed(store):
    service = JobService(store)
    running = await service.running(timeout_seconds=30)
    assert await store.renew([lease_of(running)], 80_000) == []
    assert await store.renew([lease_of(running)], 200_000) == [], "it was not overdue yet"
    overdue = await service.record(running.id)
    assert overdue.overdue
    assert await store.renew([lease_of(running)], 200_000) == [lease_of(running)]
    assert (await service.record(running.id)).due_at == overdue.due_at
    assert await store.owns(lease_of(running)), "it is the sweeper that ends it"


async def test_a_page_is_newest_first_and_has_the_total_number(store):
    for number in range(5):
        labels = ("even", "all") if number % 2 == 0 else ("all",)
        await created(store, f"j{number}", at=NOW + number, labels=labels)
    await created(store, "theirs", "other", labels=("even",))

    async def page(limit=10, offset=0, status=None, label=None):
        results = await store.page(TENANT, limit=limit, offset=offset, status=status, label=label)
        return [record.id for record in results.records], results.total

    assert await page() == (["j4", "j3", "j2", "j1", "j0"], 5)
    assert await page(limit=2, offset=1) == (["j3", "j2"], 5)
    assert await page(limit=0) == ([], 5)
    assert await page(offset=9) == ([], 5)
    assert await page(label="even") == (["j4", "j2", "j0"], 3)
    assert await page(label="none") == ([], 0)
    assert await page(label="") == ([], 0)
    service = JobService(store)
    await service.claim("j2")
    assert await page(status=Status.RUNNING) == (["j2"], 1)
    assert await page(status=Status.QUEUED, label="even") == (["j4", "j0"], 2)
    assert await page(limit=1, offset=1, status=Status.QUEUED, label="even") == (["j0"], 2)


async def test_the_queue_is_counted_by_priority(service, store):
    await service.submit(priority=Priority.HIGH)
    await service.submit(priority=Priority.LOW)
    low = await service.running(priority=Priority.LOW)
    assert await store.queue_depth() == {Priority.HIGH: 1, Priority.NORMAL: 0, Priority.LOW: 1}
    job(await service.operations.requeue(lease_of(low), "drained", Cause.STOPPING))
    assert await store.queue_depth() == {Priority.HIGH: 1, Priority.NORMAL: 0, Priority.LOW: 2}


async def test_a_conversation_remembers_its_last_turns(service, store):
    for number in range(22):
        running = await service.running(conversation_id="c", task=f"task {number}")
        await store.write(running.id, 1, Writes(workspace=f"{number:064}"))
        job(await service.operations.succeed(lease_of(running), RESULT, f"did {number}"))
    turns = await store.conversation(TENANT, "c", 2)
    assert [turn.summary for turn in turns] == ["did 21", "did 20"]
    assert turns[0] == ConversationEntry(running.id, "task 21", "did 21", f"{21:064}")
    assert len(await store.conversation(TENANT, "c", 99)) == 20
    assert await store.conversation(TENANT, "c", 0) == []
    assert await store.conversation("other", "c", 3) == []


async def test_workers_are_listed_until_they_leave_or_fall_silent(store):
    await store.announce("w1", {"models": ["a", "b"]}, 60)
    await store.announce("w2", {"busy": 1}, 60)
    first, second = await store.workers()
    assert (first["id"], first["models"], second["busy"]) == ("w1", ["a", "b"], 1)
    assert abs(first["seen_at"] - await store.now()) < 60_000
    await store.announce("w1", {"models": ["a", "b"]}, 1)
    await asyncio.sleep(1.05)
    assert [worker["id"] for worker in await store.workers()] == ["w2"]
    await store.withdraw("w2")
    assert await store.workers() == []


async def test_listeners_get_the_ids_of_cancelled_jobs(service, store):
    first, second = await service.running(), await service.submit()
    async with store.stops() as queue:
        job(await service.operations.cancel(first.id, "ann"))
        job(await service.operations.cancel(second.id, "ann"))
        heard = [await asyncio.wait_for(queue.get(), 20) for _ in range(2)]
    assert heard == [first.id, second.id]
