"""Every command on a job, in Redis."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.jobs.job_examples import RESULT, TENANT, JobService, decision, job, lease_of, review

from jobs.commits import benchmark_label
from jobs.errors import Contended, StaleEpoch, StoreUnavailable
from jobs.model.events import NewEvent
from jobs.model.record import Continuation, Reason, Status, Wait
from jobs.model.review import Action
from jobs.model.review_digest import digest_review
from jobs.model.spec import EarlierChange, JobKind, JobSpec, Priority
from jobs.service import UNKNOWN, Submission
from jobs.store import Existing, Idempotency, LeaseRef, Writes
from jobs.transitions import retry
from jobs.transitions.lifecycle import Refusal


def code(answer: object) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.code


async def test_a_job_from_its_submission_through_a_review_to_its_result(service):
    record = await service.submit(priority=Priority.HIGH)
    assert service.hints == [(record.id, Priority.HIGH)]
    running = await service.claim(record.id)
    assert (running.epoch, running.lease.worker) == (1, "worker-1")
    paused = job(await service.operations.pause(lease_of(running), review()))
    opened = replace(review(), opened_at=paused.updated_at)
    assert (paused.status, paused.lease, paused.review) == (Status.AWAITING_REVIEW, None, opened)
    assert len(service.hints) == 1
    decided = job(await service.operations.decide(record.id, decision()))
    assert (decided.review, decided.decision) == (None, decision(digest=digest_review(review())))
    assert service.hints[1:] == [(record.id, Priority.HIGH)]
    again = await service.claim(record.id)
    finished = job(await service.operations.succeed(lease_of(again), RESULT, "did it"))
    assert (finished.status, finished.result, finished.attempts) == (Status.SUCCEEDED, RESULT, 2)
    assert await service.record(record.id) == finished
    assert await service.kinds(record.id) == [
        "submitted",
        "started",
        "review_opened",
        "decided",
        "started",
        "succeeded",
    ]


@pytest.mark.parametrize("way", ["fails", "loses its workers"])
async def test_the_exercises_of_a_benchmark_that_fails_are_cancelled(service, way):
    benchmark = await service.running(kind=JobKind.BENCHMARK)
    labels = (benchmark_label(benchmark.id),)
    waiting = await service.submit(kind=JobKind.EXERCISE, labels=labels)
    running = await service.running(kind=JobKind.VERIFICATION, labels=labels)
    ended = await service.running(kind=JobKind.EXERCISE, labels=labels)
    job(await service.operations.succeed(lease_of(ended), RESULT))
    other = await service.submit(kind=JobKind.EXERCISE, labels=(benchmark_label("0" * 20),))
    lease = lease_of(benchmark)
    if way == "fails":
        job(await service.operations.fail(lease, Reason.INTERNAL, "no set"))
    else:
        wait = Wait("storage", "it does not answer")
        job(await service.operations.retry(lease, Reason.STORAGE, wait, most_retries=0))
    assert (await service.record(benchmark.id)).status is Status.FAILED
    records = [await service.record(each.id) for each in (waiting, running, ended, other)]
    cancelled = Status.CANCELLED
    assert [each.status for each in records] == [cancelled, cancelled, "succeeded", "queued"]
    (*_, event) = await service.store.events(waiting.id)
    assert event.data["by"] == f"benchmark {benchmark.id}"


async def test_an_outage_after_the_end_of_a_benchmark_leaves_no_exercise_to_run(
    service, monkeypatch
):
    benchmark = await service.running(kind=JobKind.BENCHMARK)
    exercise = await service.submit(
        kind=JobKind.EXERCISE, labels=("mine", benchmark_label(benchmark.id))
    )

    async def page(*_: object, **__: object) -> None:
        raise StoreUnavailable("it does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(service.store, "page", page)
        failed = job(await service.operations.fail(lease_of(benchmark), Reason.INTERNAL, "no set"))
    assert failed.status is Status.FAILED
    assert (await service.record(exercise.id)).status is Status.QUEUED
    assert code(await service.operations.claim(exercise.id, "worker-1")) == "not_queued"
    assert (await service.record(exercise.id)).status is Status.CANCELLED


async def test_the_same_key_and_body_give_the_same_job(service):
    submit = service.operations.submit
    key = Idempotency("key", "body")
    answers = await asyncio.gather(
        *(submit(TENANT, JobSpec("add"), by="ann", idempotency=key) for _ in range(10))
    )
    assert all(isinstance(answer, Submission) for answer in answers)
    assert len({answer.record.id for answer in answers}) == 1
    assert sum(answer.is_new for answer in answers) == 1
    assert len(service.hints) == 1
    assert (await service.store.counts())[Status.QUEUED] == 1
    second = await submit(TENANT, JobSpec("sub"), by="ann", idempotency=Idempotency("key", "b"))
    assert code(second) == "key_reused"


async def test_a_key_means_its_job_as_long_as_the_job_is_stored(service):
    submit, key = service.operations.submit, Idempotency("key", "body")
    first = await submit(TENANT, JobSpec("add"), by="ann", idempotency=key)
    assert await service.store.find_existing(TENANT, "key") == Existing(first.record.id, "body")
    assert (await service.operations.find_submission(TENANT, key)).record.id == first.record.id
    assert await service.operations.find_submission("other", key) is None
    cancelled = job(await service.operations.cancel(first.record.id, "ann"))
    assert cancelled.once == "key"
    assert await service.store.remove(cancelled)
    assert await service.store.find_existing(TENANT, "key") is None
    again = await submit(TENANT, JobSpec("sub"), by="ann", idempotency=Idempotency("key", "b"))
    assert (again.is_new, again.record.id != first.record.id) == (True, True)


@pytest.mark.invariant("J4")
async def test_one_of_many_claims_is_granted(service):
    record = await service.submit()
    claims = await asyncio.gather(
        *(service.operations.claim(record.id, f"worker-{number}") for number in range(20))
    )
    [granted] = [claim for claim in claims if not isinstance(claim, Refusal)]
    assert {code(claim) for claim in claims if claim is not granted} == {"not_queued"}
    assert await service.record(record.id) == granted


@pytest.mark.invariant("J10")
async def test_a_decision_applies_only_to_the_open_review(service):
    running = await service.running()
    early = await service.operations.decide(running.id, decision())
    job(await service.operations.pause(lease_of(running), review("r2")))
    stale = await service.operations.decide(running.id, decision("r1"))
    assert (code(early), code(stale)) == ("no_open_review", "stale_review")
    job(await service.operations.decide(running.id, decision("r2", Action.REJECT)))
    record = await service.record(running.id)
    assert (record.status, record.reason) == (Status.FAILED, Reason.REJECTED)
    assert (await service.kinds(running.id))[-2:] == ["decided", "failed"]


async def test_a_missing_job_is_unknown(service):
    operations = service.operations
    assert await operations.claim("none", "w") == UNKNOWN
    assert await operations.decide("none", decision()) == UNKNOWN
    assert await operations.cancel("none", "ann") == UNKNOWN
    assert await operations.succeed(LeaseRef("none", 1), RESULT, "") == UNKNOWN


async def test_cancel_wins_from_every_state_that_is_not_final(service):
    waiting, running = await service.submit(), await service.running()
    paused = await service.running()
    job(await service.operations.pause(lease_of(paused), review()))
    for record in (waiting, running, paused):
        finished = job(await service.operations.cancel(record.id, "bob"))
        assert (finished.status, finished.review, finished.lease) == (Status.CANCELLED, None, None)
        assert code(await service.operations.cancel(record.id, "bob")) == "final"
        assert code(await service.operations.claim(record.id, "w")) == "not_queued"
    assert code(await service.operations.succeed(lease_of(running), RESULT, "")) == "not_running"
    assert code(await service.operations.decide(paused.id, decision())) == "no_open_review"
    assert await service.store.due(10) == []


async def test_a_conversation_runs_one_job_at_a_time_in_order(service):
    first = await service.submit(conversation_id="c")
    second = await service.submit(conversation_id="c", priority=Priority.LOW)
    third = await service.submit(conversation_id="c", priority=Priority.HIGH)
    running = await service.claim(first.id)
    for behind in (second, third):
        assert code(await service.operations.claim(behind.id, "w")) == "waits_in_line"
    job(await service.operations.pause(lease_of(running), review()))
    assert code(await service.operations.claim(second.id, "w")) == "waits_in_line"
    service.hints.clear()
    job(await service.operations.cancel(first.id, "ann"))
    assert service.hints == [(second.id, Priority.LOW)]
    assert code(await service.operations.claim(third.id, "w")) == "waits_in_line"
    running = await service.claim(second.id)
    job(await service.operations.succeed(lease_of(running), RESULT, "done"))
    assert service.hints[1:] == [(third.id, Priority.HIGH)]
    await service.claim(third.id)


@pytest.mark.invariant("J8")
async def test_a_dead_workers_job_is_hinted_by_the_sweep_after_its_leases_end(store):
    service = JobService(store, lease_ms=100)
    running = await service.running(priority=Priority.HIGH)
    service.hints.clear()
    assert await service.operations.sweep() == 0
    await asyncio.sleep(0.11)
    assert await service.operations.sweep() == 1
    assert service.hints == [(running.id, Priority.HIGH)]
    again = await service.claim(running.id)
    assert (again.epoch, again.crashes) == (2, 1)


# Retried


async def test_the_start_on_an_earlier_change_is_recorded_once_and_belongs_to_the_retry(service):
    running = await service.running()
    change = EarlierChange("j0", "b" * 64, "c" * 40, branch="fettle/j0")
    start = Continuation(change, "a" * 64, "d" * 40, "c" * 40, "fettle/j0", True, ("CONFLICT",))
    writes = Writes(workspace="a" * 64, continues=start)
    with pytest.raises(StaleEpoch):
        await service.store.write(running.id, 2, writes)
    assert (await service.record(running.id)).continues is None
    await service.store.write(running.id, 1, writes)
    await service.store.write(running.id, 1, Writes(workspace="e" * 64))
    failed = job(await service.operations.fail(lease_of(running), Reason.DELIVERY, "it moved"))
    assert (failed.continues, failed.workspace) == (start, "e" * 64)
    retry_job = job(await service.operations.retry_as_new_job(failed.id, by="bob"))
    assert (await service.record(retry_job.id)).continues == start
    spec = replace(failed.spec, workspace="f" * 64)
    fork = job(await service.operations.fork_as_new_job(failed.id, spec, continues=start, by="bob"))
    assert (await service.record(fork.id)).continues == replace(
        start, branch=None, workspace="f" * 64
    )
    revision = job(await service.operations.fork_as_new_job(failed.id, spec, by="bob"))
    assert revision.continues is None


async def test_a_retry_continues_from_the_end_of_the_failed_job(service):
    running = await service.running(conversation_id="talk", labels=("l",))
    run = NewEvent("n|executor|1|run_finished", "run_finished", {"number": 1, "artifacts": []})
    writes = Writes((run,), {"n|executor|1": b"paid"}, workspace="a" * 64, blobs=["a" * 64])
    await service.store.write(running.id, 1, writes)
    failed = job(await service.operations.fail(lease_of(running), Reason.DEADLINE, "too long"))
    retry_job = job(await service.operations.retry_as_new_job(failed.id, by="bob", request_id="r2"))
    assert retry_job.id != failed.id
    assert retry_job == await service.record(retry_job.id)
    assert (retry_job.status, retry_job.inherits, retry_job.workspace) == (
        Status.QUEUED,
        failed.id,
        "a" * 64,
    )
    assert (retry_job.spec.retry_of, retry_job.spec.labels) == (failed.id, ("l",))
    assert (retry_job.conversation_id, retry_job.submitted_by) == ("talk", "bob")
    assert (retry_job.epoch, retry_job.attempts, retry_job.crashes, retry_job.ran_ms) == (
        0,
        0,
        0,
        0,
    )
    assert service.hints[-1] == (retry_job.id, retry_job.spec.priority)
    assert await service.store.journal(retry_job.id) == {"n|executor|1": b"paid"}
    assert await service.store.charges(retry_job.id) == []
    assert await service.kinds(retry_job.id) == ["submitted", "run_finished"]
    assert (await service.store.events(retry_job.id))[0].data["retry_of"] == failed.id
    assert await service.record(failed.id) == failed  # J6
    # the store ignores repeated reports of the same work
    claimed = await service.claim(retry_job.id)
    await service.store.write(claimed.id, 1, Writes((run,)))
    assert await service.kinds(retry_job.id) == ["submitted", "run_finished", "started"]
    # its bytes belong to the retry_job, too
    assert await service.store.remove(failed)
    assert list((await service.store.blobs.take_unreferenced(-1, 9)).digests) == []


async def test_only_failed_or_cancelled_jobs_are_retried(service):
    assert await service.operations.retry_as_new_job("none", by="bob") == UNKNOWN
    waiting = await service.submit()
    assert code(await service.operations.retry_as_new_job(waiting.id, by="bob")) == "not_failed"
    running = await service.claim(waiting.id)
    job(await service.operations.succeed(lease_of(running), RESULT, "did it"))
    assert code(await service.operations.retry_as_new_job(waiting.id, by="bob")) == "not_failed"
    cancelled = await service.submit()
    job(await service.operations.cancel(cancelled.id, "ann"))
    assert (
        job(await service.operations.retry_as_new_job(cancelled.id, by="bob")).status
        is Status.QUEUED
    )


async def test_a_retry_inherits_no_data_from_a_removed_job(service):
    cancelled = job(await service.operations.cancel((await service.submit()).id, "ann"))
    change = retry.retry_as_new_job(cancelled, [], "retry_job", cancelled.updated_at, by="bob")
    assert await service.store.remove(cancelled)
    with pytest.raises(Contended):
        await service.store.create(change, parent=cancelled)
    assert await service.store.load("retry_job") is None


async def test_a_job_in_a_conversations_line_gets_no_hint_and_no_sweep_before_its_turn(
    service, store
):
    head = await service.running()
    behind = [(await service.submit(conversation_id=head.id)).id for _ in range(3)]
    assert [job_id for job_id, _ in service.hints] == [head.id]
    before = [await service.record(job_id) for job_id in behind]
    assert min(record.due_at for record in before) > await store.now() + 3_000_000
    assert await service.operations.sweep() == 0
    assert [await service.record(job_id) for job_id in behind] == before
    job(await service.operations.cancel(behind[0], "ann"))
    job(await service.operations.succeed(lease_of(head), RESULT))
    assert [job_id for job_id, _ in service.hints] == [head.id, behind[1]]
    assert await store.due(9) == [behind[1]]
    assert (await store.system_load(TENANT)).queued == 1


async def test_an_attempt_submits_jobs_only_while_it_holds_its_lease(service):
    """A benchmark that was cancelled, or that another worker has, gets no further job."""
    running = await service.claim((await service.submit()).id)
    lease = lease_of(running)

    async def submit(once: str):
        key = Idempotency(once, once)
        operations = service.operations
        return await operations.submit(TENANT, JobSpec("x"), by="ann", idempotency=key, lease=lease)

    first = await submit("a")
    assert first.is_new
    await service.operations.cancel(running.id, "ann")
    with pytest.raises(StaleEpoch):
        await submit("b")
    assert (await submit("a")).record.id == first.record.id  # it is only found
