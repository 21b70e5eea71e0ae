"""The audit log in Redis: each act once, in the step of its change, and chained."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.jobs.job_examples import RESULT, TENANT, decision, job, lease_of, review

from jobs.audit.chain import pending_body
from jobs.audit.entries import Actor, EntryKind, NewEntry
from jobs.audit.verification import LogBroken, verify_log
from jobs.errors import StoreUnavailable
from jobs.model.record import JobRecord, Push, Result
from jobs.model.review import Action, Decision
from jobs.redis import keys
from jobs.retention import Retention, remove_finished
from jobs.store import audit
from jobs.store.redis_store import RedisStore, connect
from settings.worker import WorkerSettings
from worker.background.audit import AuditWork, audit_work, seal_logs

ADMIN = Actor("root", "k0", "Grace")
AT_ONCE = Retention(-60_000, 0)
DAY_MS = 86_400_000


async def lines_of(store: RedisStore, tenant: str = TENANT) -> list[bytes]:
    """The sealed log."""
    await store.audit.seal(tenant)
    return [line + b"\n" for line in await store.audit.read(tenant, 0, 100_000)]


async def entries_of(store: RedisStore, tenant: str = TENANT) -> list[dict[str, Any]]:
    return [json.loads(line) for line in await lines_of(store, tenant)]


def signed_in(number: int) -> NewEntry:
    return NewEntry(TENANT, EntryKind.SIGNED_IN, ADMIN, {"number": number})


async def in_review(service, **fields: Any) -> str:
    running = await service.running(review=True, **fields)
    job(await service.operations.pause(lease_of(running), review()))
    return running.id


async def test_votes_and_decisions_are_entries_without_the_words_of_the_work(service):
    job_id = await in_review(service, approvals=2)
    for by in ("cat", "dan"):
        vote = Decision("r1", Action.APPROVE, by, "fine", key_id=f"k-{by}", person=by.upper())
        job(await service.operations.decide(job_id, vote))
    voted, decided = await entries_of(service.store)
    assert [voted["kind"], decided["kind"]] == ["voted", "decided"]
    assert voted["actor"] == {"name": "cat", "key_id": "k-cat", "person": "CAT"}
    assert (decided["data"]["job_id"], decided["data"]["approvals"]) == (job_id, ["CAT", "DAN"])
    assert (decided["data"]["feedback"], len(decided["data"]["digest"])) == ("fine", 64)
    assert not {"by", "comments", "answers"} & decided["data"].keys()
    verify_log(await lines_of(service.store))


async def test_overrides_and_withdrawn_votes_are_entries_with_their_evidence(service):
    running = await service.running(review=True, approvals=2)
    job(await service.operations.pause(lease_of(running), review(unproven="nothing ran")))
    vote = Decision("r1", Action.APPROVE, "cat", "known", override=True, key_id="k", person="Cat")
    withdrawal = Decision("r1", Action.WITHDRAW, "cat", key_id="k", person="Cat")
    unmarked = Decision("r1", Action.APPROVE, "cat", "fine", key_id="k", person="Cat")
    assert not isinstance(await service.operations.decide(running.id, unmarked), JobRecord)
    for decided in (vote, withdrawal):
        job(await service.operations.decide(running.id, decided))
    voted, withdrawn = await entries_of(service.store)
    assert (voted["kind"], withdrawn["kind"]) == ("voted", "vote_withdrawn")
    assert (voted["data"]["override"], voted["data"]["feedback"]) == (True, "known")
    assert voted["data"]["evidence"]["needs_override"] is True
    assert withdrawn["actor"] == voted["actor"]


async def test_a_change_that_does_not_apply_leaves_no_entry(service):
    job_id = await in_review(service)
    await asyncio.gather(
        *(service.operations.decide(job_id, decision(feedback=str(i))) for i in range(5))
    )
    await service.operations.decide(job_id, decision("r-other"))
    assert [entry["kind"] for entry in await entries_of(service.store)] == ["decided"]


async def test_a_delivery_is_an_entry_with_its_commit(service):
    running = await service.running()
    delivery = Push(branch="fettle/j1", commit="c0ffee", base="main")
    result = Result("42", "Ada", delivery=delivery)
    job(await service.operations.succeed(lease_of(running), result, "did it"))
    [entry] = await entries_of(service.store)
    assert (entry["kind"], entry["actor"]["name"]) == ("job_delivered", "worker")
    assert (entry["data"]["commit"], entry["data"]["approved_by"]) == ("c0ffee", "Ada")


async def test_a_tombstone_keeps_who_approved_which_digest(service):
    job_id = await in_review(service)
    by_bob = decision(feedback="fine", key_id="k1", person="Bob")
    job(await service.operations.decide(job_id, by_bob))
    job(await service.operations.succeed(lease_of(await service.claim(job_id)), RESULT, "did it"))
    assert await service.operations.delete(job_id, ADMIN) is None
    decided, deleted = await entries_of(service.store)
    assert (deleted["kind"], deleted["actor"]["person"]) == ("job_deleted", "Grace")
    assert deleted["data"]["job_id"] == job_id
    [approval] = deleted["data"]["decisions"]
    assert (approval["by"], approval["person"], approval["key_id"]) == ("bob", "Bob", "k1")
    assert (approval["digest"], approval["feedback"]) == (decided["data"]["digest"], "fine")


async def test_retention_leaves_a_tombstone_of_jobs_that_a_person_decided_on(service):
    await service.operations.cancel((await service.submit()).id, "ann")
    job_id = await in_review(service)
    job(await service.operations.decide(job_id, decision(action=Action.REJECT, feedback="no")))
    assert await remove_finished(service.store, AT_ONCE) == 2
    entries = await entries_of(service.store)
    assert [entry["kind"] for entry in entries] == ["cancelled", "decided", "job_deleted"]
    assert (entries[2]["actor"]["name"], entries[2]["data"]["job_id"]) == ("retention", job_id)


async def test_sealers_and_writers_at_the_same_time_neither_lose_nor_double_an_entry(
    store, monkeypatch
):
    monkeypatch.setattr(audit, "ENTRIES_PER_STEP", 7)

    async def append(first: int) -> None:
        for number in range(first, first + 50):
            await store.audit.append(signed_in(number))

    sealing = [asyncio.create_task(_seal_often(store)) for _ in range(4)]
    await asyncio.gather(*(append(first) for first in range(0, 200, 50)))
    await asyncio.gather(*sealing)
    entries = await entries_of(store)
    assert sorted(entry["data"]["number"] for entry in entries) == list(range(200))
    assert verify_log(await lines_of(store)).head.seq == 200


async def _seal_often(store: RedisStore) -> None:
    for _ in range(50):
        await seal_logs(store)


async def test_a_sealer_that_loses_the_answer_of_redis_seals_nothing_twice(store, monkeypatch):
    """As after a crash between the step of the sealer and its next read."""
    await store.audit.append(*(signed_in(number) for number in range(3)))
    seal = store.audit._seal

    async def answer_lost(**arguments: Any) -> None:
        await seal(**arguments)
        raise ConnectionError("the connection was lost")

    monkeypatch.setattr(store.audit, "_seal", answer_lost)
    with pytest.raises(StoreUnavailable):
        await store.audit.seal(TENANT)
    monkeypatch.setattr(store.audit, "_seal", seal)
    await store.audit.append(signed_in(3))
    assert [entry["data"]["number"] for entry in await entries_of(store)] == [0, 1, 2, 3]
    verify_log(await lines_of(store))


async def test_each_tenant_has_a_log_of_its_own(store):
    await store.audit.append(
        signed_in(1), NewEntry("other:x", EntryKind.SIGNED_IN, ADMIN), signed_in(2)
    )
    await seal_logs(store)
    assert await store.audit.tenants() == ["acme", "other:x"]
    assert (await store.audit.state(TENANT)).head.seq == 2
    assert verify_log(await lines_of(store, "other:x")).tenant == "other:x"


async def test_a_part_is_found_by_its_time(store):
    moments = []
    for number in range(5):
        await store.audit.append(signed_in(number))
        await asyncio.sleep(0.003)
        moments.append(await store.now())
        await asyncio.sleep(0.003)
    await store.audit.seal(TENANT)
    numbers = [await store.audit.last_before(TENANT, moment) for moment in (0, *moments)]
    assert numbers == [0, 1, 2, 3, 4, 5]
    assert await store.audit.last_before("nobody", moments[0]) == 0


async def test_a_head_is_signed_once_a_day_with_its_message(store, one_day):
    key = Ed25519PrivateKey.generate()
    assert not await store.audit.sign_head(TENANT, key, webhook=True), "there is no entry"
    await store.audit.append(signed_in(1))
    signed = await asyncio.gather(
        *(store.audit.sign_head(TENANT, key, webhook=True) for _ in range(4))
    )
    assert sum(signed) == 1
    await store.audit.append(signed_in(2))
    assert not await store.audit.sign_head(TENANT, key, webhook=True)
    log = verify_log(await lines_of(store), keys=[key.public_key()])
    assert (log.head.seq, log.signed_seq) == (3, 1)
    [message], _ = await store.outbox.waiting(9)
    assert (message.type, message.data["tenant"], message.data["seq"]) == ("audit.head", TENANT, 1)
    entry = (await entries_of(store))[1]
    assert entry["data"].items() <= message.data.items()


async def test_a_worker_signs_and_trims_each_log_by_its_settings(store, tmp_path, one_day):
    key = Ed25519PrivateKey.generate()
    key_file = tmp_path / "audit.pem"
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    old_time = await store.now() - 40 * DAY_MS
    await store.redis.rpush(keys.audit_pending(TENANT), f"{old_time} {pending_body(signed_in(0))}")
    await store.audit.append(signed_in(1), NewEntry("other", EntryKind.SIGNED_IN, ADMIN))
    work = audit_work(WorkerSettings(audit_key=key_file, audit_retention_days=30))
    for _ in range(2):
        await work.run(store)
    log = verify_log(await lines_of(store), keys=[key.public_key()])
    assert (log.first_seq, log.signed_seq, log.head.seq) == (2, 4, 5), (
        "signed again after the removal"
    )
    assert verify_log(await lines_of(store, "other"), keys=[key.public_key()]).head.seq == 2
    assert await store.outbox.waiting(9) == ([], 0), "no webhook is set"


async def test_a_head_is_signed_again_after_a_removal(store, one_day):
    key = Ed25519PrivateKey.generate()
    old_time = await store.now() - 40 * DAY_MS
    await store.redis.rpush(keys.audit_pending(TENANT), f"{old_time} {pending_body(signed_in(0))}")
    await store.audit.append(signed_in(1))
    assert await store.audit.sign_head(TENANT, key, webhook=True)
    await store.audit.trim(TENANT, 30 * DAY_MS)
    signed = await asyncio.gather(
        *(store.audit.sign_head(TENANT, key, webhook=True) for _ in range(3))
    )
    assert sum(signed) == 1
    log = verify_log(await lines_of(store), keys=[key.public_key()])
    assert (log.first_seq, log.signed_seq, log.head.seq) == (2, 4, 5)
    messages, _ = await store.outbox.waiting(9)
    assert [message.data["seq"] for message in messages] == [2, 4]


async def test_a_log_that_has_not_grown_is_not_signed_again(store):
    key = Ed25519PrivateKey.generate()
    await store.audit.append(signed_in(1))
    assert await store.audit.sign_head(TENANT, key, webhook=False)
    await store.redis.hset(keys.audit_head(TENANT), "signed_day", "2020-01-01")
    assert not await store.audit.sign_head(TENANT, key, webhook=False)
    await store.audit.append(signed_in(2))
    assert await store.audit.sign_head(TENANT, key, webhook=False)
    assert await store.outbox.waiting(9) == ([], 0)


async def test_a_damaged_log_does_not_keep_other_logs_from_being_sealed(store):
    await store.audit.append(signed_in(1), NewEntry("zoo", EntryKind.SIGNED_IN, ADMIN))
    await store.redis.lset(keys.audit_pending(TENANT), 0, "0 {")
    await seal_logs(store)
    assert (await store.audit.state("zoo")).head.seq == 1


async def test_a_damaged_log_does_not_keep_other_logs_from_their_signature(store, one_day):
    await store.audit.append(signed_in(1), NewEntry("zoo", EntryKind.SIGNED_IN, ADMIN))
    await store.redis.rpush(keys.audit_pending(TENANT), "0 {")
    key = Ed25519PrivateKey.generate()
    await AuditWork(key, retention_ms=None, webhook=False).run(store)
    log = verify_log(await lines_of(store, "zoo"), keys=[key.public_key()])
    assert log.signed_seq == 1


async def test_retention_trims_a_log_that_still_verifies(store, monkeypatch):
    monkeypatch.setattr(audit, "TRIMMED_PER_STEP", 2)
    key = Ed25519PrivateKey.generate()
    old_time = await store.now() - 40 * DAY_MS
    pending = [f"{old_time} {pending_body(signed_in(number))}" for number in range(5)]
    await store.redis.rpush(keys.audit_pending(TENANT), *pending)
    await store.audit.append(signed_in(5))
    await store.audit.seal(TENANT)
    assert await store.audit.trim(TENANT, 60 * DAY_MS) == 0
    counts = await asyncio.gather(*(store.audit.trim(TENANT, 30 * DAY_MS) for _ in range(3)))
    assert sum(counts) == 5
    assert await store.audit.trim(TENANT, 30 * DAY_MS) == 0
    assert await store.audit.sign_head(TENANT, key, webhook=False)
    lines = await lines_of(store)
    log = verify_log(lines, keys=[key.public_key()])
    assert (log.first_seq, log.head.seq, log.signed_seq) == (6, 10, 9)
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == ["signed_in", "log_trimmed", "log_trimmed", "log_trimmed", "head_signed"]
    with pytest.raises(LogBroken, match="entries 1 to 6 are missing"):
        verify_log(lines[1:])


async def test_a_worker_stops_trimming_if_another_worker_has_trimmed(store, monkeypatch):
    old_time = await store.now() - 40 * DAY_MS
    old_entry = f"{old_time} {pending_body(signed_in(0))}"
    await store.redis.rpush(keys.audit_pending(TENANT), old_entry)
    await store.audit.seal(TENANT)
    other_store = RedisStore(store.redis)
    state, calls = store.audit.state, itertools.count(1)

    async def state_before_other_trim(tenant: str) -> audit.LogState:
        before = await state(tenant)
        if next(calls) == 2:  # the first call looks for the last expired entry
            assert await other_store.audit.trim(tenant, 30 * DAY_MS) == 1
        return before

    monkeypatch.setattr(store.audit, "state", state_before_other_trim)
    assert await store.audit.trim(TENANT, 30 * DAY_MS) == 0
    assert verify_log(await lines_of(other_store)).first_seq == 2


async def test_a_log_without_entries_continues_its_numbers(store):
    old_time = await store.now() - 40 * DAY_MS
    old_entry = f"{old_time} {pending_body(signed_in(0))}"
    await store.redis.rpush(keys.audit_pending(TENANT), old_entry)
    await store.audit.seal(TENANT)
    assert await store.audit.trim(TENANT, 30 * DAY_MS) == 1
    assert (await store.audit.state(TENANT)).first_seq == 0
    log = verify_log(await lines_of(store))
    assert (log.first_seq, log.head.seq) == (2, 2)


async def test_entries_are_appended_and_sealed_although_redis_is_full(redis_url):
    full_store = RedisStore(connect(redis_url, seconds=20))
    try:
        await full_store.redis.config_set("maxmemory", 1)
        await full_store.audit.append(signed_in(1))
        assert len(await lines_of(full_store)) == 1
    finally:
        await full_store.redis.config_set("maxmemory", 0)
        await full_store.close()
