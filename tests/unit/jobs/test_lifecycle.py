"""Each transition and each refusal of the lifecycle."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.jobs.job_examples import NOW, RESULT, claimed, decision, queued, review

from jobs.model.record import Cause, Lease, Reason, Status, Wait
from jobs.model.review import Action
from jobs.model.spec import JobKind, JobSpec
from jobs.transitions import lifecycle
from jobs.transitions.lifecycle import Policy, Refusal
from jobs.transitions.messages import add_message

LATER = NOW + 1_000
AFTER_LEASE = NOW + Policy().lease_ms


ANN = {"by": "ann", "key_id": "k1", "person": ""}
AWAY = Wait("groq", "groq:x: no token within 60 s")


def retried(record, now, asked_ms=0, most_retries=None):
    return lifecycle.retry(
        record,
        now,
        reason=Reason.MODEL_UNAVAILABLE,
        wait=AWAY,
        policy=Policy(),
        min_delay_ms=asked_ms,
        most_retries=most_retries,
    )


def paused():
    return lifecycle.pause(claimed(queued()), NOW, review=review()).after


def final_record(status: Status):
    return replace(queued(), status=status, finished_at=NOW)


RECORDS = {
    Status.QUEUED: queued(),
    Status.RUNNING: claimed(queued()),
    Status.AWAITING_REVIEW: paused(),
    **{status: final_record(status) for status in Status if status.final},
}

COMMANDS = {
    "claim": lambda r: lifecycle.claim(r, LATER, worker="w", policy=Policy()),
    "pause": lambda r: lifecycle.pause(r, LATER, review=review()),
    "decide": lambda r: lifecycle.decide(r, LATER, decision=decision()),
    "reject": lambda r: lifecycle.decide(r, LATER, decision=decision(action=Action.REJECT)),
    "message": lambda r: add_message(r, LATER, text="Also sort", signed=ANN),
    "cancel": lambda r: lifecycle.cancel(r, LATER, by="ann"),
    "succeed": lambda r: lifecycle.succeed(r, LATER, result=RESULT),
    "fail": lambda r: lifecycle.fail(r, LATER, reason=Reason.INTERNAL, detail="x"),
    "requeue": lambda r: lifecycle.requeue(r, LATER, cause=Cause.STOPPING),
    "retry": lambda r: retried(r, LATER),
    "rest": lambda r: lifecycle.rest(r, LATER, wait=AWAY, delay_ms=9),
    "expire": lambda r: lifecycle.expire(r, AFTER_LEASE),
    "hint": lambda r: lifecycle.hint(r, AFTER_LEASE),
}

LEADS = {
    (Status.QUEUED, "claim"): Status.RUNNING,
    (Status.QUEUED, "message"): Status.QUEUED,
    (Status.RUNNING, "message"): Status.RUNNING,
    (Status.AWAITING_REVIEW, "message"): Status.AWAITING_REVIEW,
    (Status.QUEUED, "cancel"): Status.CANCELLED,
    (Status.QUEUED, "hint"): Status.QUEUED,
    (Status.RUNNING, "pause"): Status.AWAITING_REVIEW,
    (Status.RUNNING, "cancel"): Status.CANCELLED,
    (Status.RUNNING, "succeed"): Status.SUCCEEDED,
    (Status.RUNNING, "fail"): Status.FAILED,
    (Status.RUNNING, "requeue"): Status.QUEUED,
    (Status.RUNNING, "retry"): Status.QUEUED,
    (Status.RUNNING, "rest"): Status.QUEUED,
    (Status.RUNNING, "expire"): Status.QUEUED,
    (Status.AWAITING_REVIEW, "decide"): Status.QUEUED,
    (Status.AWAITING_REVIEW, "reject"): Status.FAILED,
    (Status.AWAITING_REVIEW, "cancel"): Status.CANCELLED,
}

REFUSED = {
    "claim": "not_queued",
    "hint": "not_queued",
    "decide": "no_open_review",
    "reject": "no_open_review",
    "message": "final",
    "cancel": "final",
}


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.invariant("J6")
def test_each_command_changes_the_status_or_is_refused(status, command):
    before = RECORDS[status]
    answer = COMMANDS[command](before)
    leads = LEADS.get((status, command))
    if leads is None:
        assert isinstance(answer, Refusal)
        assert (answer.code, answer.status) == (REFUSED.get(command, "not_running"), status)
        return
    after = answer.after
    assert (after.status, after.version) == (leads, before.version + 1)
    assert (after.lease is not None) == (leads is Status.RUNNING)
    assert (after.review is not None) == (leads is Status.AWAITING_REVIEW)
    assert (after.finished_at is not None) == leads.final
    assert [e.kind in ("succeeded", "failed", "cancelled") for e in answer.events].count(
        True
    ) == leads.final
    assert (after.id, after.spec, after.created_at) == (before.id, before.spec, before.created_at)


@pytest.mark.invariant("J4")
def test_a_claim_raises_the_epoch_and_starts_the_lease():
    after = claimed(queued(), LATER)
    assert (after.epoch, after.attempts, after.hints) == (1, 1, 0)
    assert after.lease.until == after.due_at == LATER + Policy().lease_ms
    again = claimed(lifecycle.requeue(after, LATER + 5, cause=Cause.STOPPING).after, LATER + 10)
    assert (again.epoch, again.started_at, again.claimed_at) == (2, LATER, LATER + 10)


def test_a_benchmark_rests_without_events_and_without_tries():
    """It is claimed again every few seconds, for hours."""
    spec = JobSpec("x", kind=JobKind.BENCHMARK, timeout_seconds=1)  # of each exercise
    benchmark = replace(queued(), spec=spec, retries=2)
    change = lifecycle.claim(benchmark, NOW, worker="w", policy=Policy())
    assert [event.kind for event in change.events] == ["started"]
    change = lifecycle.rest(change.after, LATER, wait=AWAY, delay_ms=2_000)
    rested = change.after
    assert (change.events, rested.retries, rested.waits, rested.lease) == ((), 0, AWAY, None)
    assert rested.ran_ms == 0  # else many short looks would exceed the time of a job
    early = lifecycle.claim(rested, LATER + 1_999, worker="w", policy=Policy())
    assert early.code == "not_due"
    again = lifecycle.claim(rested, LATER + 2_000, worker="w", policy=Policy())
    assert (again.events, again.after.epoch) == ((), 2)
    assert again.after.ends_by > LATER + 600_000


@pytest.mark.parametrize("command", ["pause", "succeed", "requeue", "expire", "cancel"])
def test_running_time_adds_up_over_attempts(command):
    change = COMMANDS[command](claimed(replace(queued(), ran_ms=500)))
    spent = Policy().lease_ms if command == "expire" else 1_000
    assert (change.after.ran_ms, change.after.claimed_at) == (500 + spent, None)


def test_a_job_beyond_its_deadline_is_ended_without_its_worker():
    policy = Policy(lease_ms=1_000, overdue_ms=5_000)
    record = replace(queued(), spec=replace(queued().spec, timeout_seconds=10), ran_ms=4_000)
    running = lifecycle.claim(record, NOW, worker="w", policy=policy).after
    assert running.ends_by == NOW + 6_000 + 5_000
    long = lifecycle.claim(record, NOW, worker="w", policy=replace(policy, lease_ms=20_000)).after
    assert not long.overdue, "a lease may be longer than a job"
    last = replace(running, due_at=running.ends_by, lease=Lease("w", running.ends_by))
    assert not last.overdue
    crashed = lifecycle.expire(last, running.ends_by + 1).after
    assert (crashed.status, crashed.ends_by) == (Status.QUEUED, None)
    over = replace(running, due_at=running.ends_by + 1, lease=Lease("w", running.ends_by + 1))
    assert over.overdue
    transition = lifecycle.expire(over, running.ends_by + 1)
    assert (transition.after.status, transition.after.reason) == (Status.FAILED, Reason.DEADLINE)
    assert [event.kind for event in transition.events] == ["lease_lost", "failed"]


def progressed(record):
    return replace(record, progress_epoch=record.epoch)


def test_an_attempt_that_only_waited_adds_no_running_time():
    running = claimed(replace(queued(), ran_ms=500))
    assert retried(running, LATER).after.ran_ms == 500
    assert retried(progressed(running), LATER).after.ran_ms == 1_500


def test_tries_have_growing_intervals_for_half_an_hour_and_then_fail():
    record, now, delays = RECORDS[Status.RUNNING], NOW, []
    for _ in range(Policy().retries):
        waiting = retried(record, now).after
        early = lifecycle.claim(waiting, waiting.due_at - 1, worker="w", policy=Policy())
        assert isinstance(early, Refusal)
        assert early.code == "not_due"
        assert waiting.waits == AWAY
        delays.append(waiting.due_at - now)
        now = waiting.due_at
        record = claimed(waiting, now)
        assert record.waits is None
    least_delays = [min(5_000 * 2**n, 300_000) for n in range(12)]
    assert all(at <= delay <= 1.1 * at for at, delay in zip(least_delays, delays, strict=True))
    assert sum(delays) > 30 * 60_000
    last = retried(record, now).after
    assert (last.status, last.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE)
    assert last.detail == f"{AWAY.why}; given up after 13 tries (FETTLE_RETRIES)"
    again = retried(progressed(record), now).after
    assert (again.status, again.retries) == (Status.QUEUED, 1)


def test_an_error_that_may_be_a_wrong_setting_is_retried_for_only_a_minute():
    record, now = RECORDS[Status.RUNNING], NOW
    for _ in range(4):
        waiting = retried(record, now, most_retries=4).after
        now = waiting.due_at
        record = claimed(waiting, now)
    assert 75_000 <= now - NOW <= 1.1 * 75_000
    last = retried(record, now, most_retries=4).after
    assert (last.status, last.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE)
    assert last.detail == f"{AWAY.why}; given up after 5 tries"


def test_no_try_is_made_before_the_time_that_the_provider_requested():
    waiting = retried(RECORDS[Status.RUNNING], NOW, asked_ms=600_000)
    assert 600_000 <= waiting.after.due_at - NOW <= 660_000
    (given_back,) = waiting.events
    assert given_back.data["waits_for"] == "groq"
    assert given_back.data["delay_ms"] == waiting.after.due_at - NOW


def crash(record, *, progressed=False, alone=False):
    running = claimed(record, record.due_at, alone=alone)
    if progressed:
        running = replace(running, progress_epoch=running.epoch)
    return lifecycle.expire(running, running.due_at)


@pytest.mark.invariant("J8")
def test_after_a_crash_two_lost_hints_do_not_exceed_the_recovery_time():
    record, at = crash(queued()).after, 0
    lost = record.updated_at
    for _ in range(2):
        at = record.due_at
        record = lifecycle.hint(record, at).after
    assert at - lost <= 1_000
    for _ in range(10):
        record = lifecycle.hint(record, record.due_at).after
    assert record.due_at - record.updated_at == 60_000


@pytest.mark.invariant("J7")
def test_a_job_runs_alone_after_two_crashes_and_is_poison_after_a_third():
    twice = crash(crash(queued()).after).after
    assert twice.crashes == 2
    refused = lifecycle.claim(twice, twice.due_at, worker="w", policy=Policy())
    assert isinstance(refused, Refusal)
    assert refused.code == "alone"
    poisoned = crash(twice, alone=True)
    assert (poisoned.after.status, poisoned.after.reason) == (Status.FAILED, Reason.POISONED)
    assert [event.kind for event in poisoned.events] == ["lease_lost", "failed"]


@pytest.mark.invariant("J7")
def test_a_crash_after_progress_is_not_poison():
    record = queued()
    for _ in range(2):
        record = crash(record).after
    progressed = crash(record, progressed=True, alone=True).after
    assert (progressed.status, progressed.crashes) == (Status.QUEUED, 1)


@pytest.mark.parametrize("command", ["pause", "requeue", "retry"])
def test_a_regular_end_of_an_attempt_resets_the_count_of_crashes(command):
    record = crash(queued()).after
    assert record.crashes == 1
    assert COMMANDS[command](claimed(record, record.due_at)).after.crashes == 0


def test_progress_resets_the_count_of_crashes():
    record = crash(queued()).after
    assert crash(record, progressed=True).after.crashes == 1
    assert crash(record).after.crashes == 2


def test_no_two_transitions_of_a_job_share_the_key_of_an_event():
    record, names = queued(), ["submitted"]

    def follow(change):
        names.extend(event.key for event in change.events)
        return change.after

    for _ in range(3):
        running = follow(lifecycle.claim(record, NOW + 10**9, worker="w", policy=Policy()))
        waiting = follow(lifecycle.pause(running, NOW, review=review()))
        record = follow(lifecycle.decide(waiting, NOW, decision=decision()))
        record = follow(lifecycle.requeue(claimed(record), NOW, cause=Cause.STOPPING))
        record = follow(lifecycle.expire(claimed(record), NOW + 10**9))
    follow(lifecycle.cancel(record, NOW, by="ann"))
    assert len(names) == len(set(names))
