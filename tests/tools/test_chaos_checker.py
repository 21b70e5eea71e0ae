"""The checker finds each rule's violation. A checker that cannot fail is worth nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cases.chaos_story import BOUNDS, Story, a_story, with_job

from drills.chaos import report
from drills.chaos.checks.checker import CHECKS, check
from drills.chaos.checks.checkpoints import UNREAD
from drills.chaos.checks.coverage import WHOLE
from drills.chaos.deployment.reading import Reading
from drills.chaos.drill import Outcome
from drills.chaos.oplog import Called, Left, Mended, Retried, Seen, Struck, Submitted, Told
from jobs.model.events import Event
from jobs.model.graph_format import GraphFormat
from jobs.model.record import Reason, Status
from jobs.model.review import Action
from jobs.transitions import upgrade

Doctor = Callable[[Story], Reading]


def said(events: Any, kind: str, data: dict[str, Any], at: int = 0) -> tuple[Event, ...]:
    """Events with one more at the end."""
    return (*events, Event(len(events) + 1, at or events[-1].at, kind, data))


def numbered(events: Any) -> tuple[Event, ...]:
    return tuple(replace(event, seq=seq) for seq, event in enumerate(events, 1))


def with_events(reading: Reading, job_id: str, events: Any) -> Reading:
    job = reading.jobs[job_id]
    assert job.kept is not None
    return with_job(
        reading,
        job_id,
        events=tuple(events),
        kept=replace(job.kept, facts=0 if job.over else len(events)),
    )


def with_indexes(reading: Reading, **fields: Any) -> Reading:
    assert reading.indexes is not None
    return replace(reading, indexes=replace(reading.indexes, **fields))


def without(reading: Reading, job_id: str) -> Reading:
    jobs = {name: job for name, job in reading.jobs.items() if name != job_id}
    return replace(reading, jobs=jobs)


def test_a_story_in_order_breaks_no_rule() -> None:
    verdict = a_story().verdict()
    assert verdict.as_text() == ""
    assert (verdict.jobs, verdict.lost, verdict.finished_twice) == (6, (), ())
    assert verdict.statuses == {"succeeded": 4, "awaiting_review": 1, "cancelled": 1}
    assert (verdict.repeated_in_flight, verdict.repeated_paid_calls) == (1, 0)


# J1


def accepted_and_gone(story: Story) -> Reading:
    return without(story.reading(), "plain")


def accepted_and_stuck(story: Story) -> Reading:
    story.submit("stuck")
    return story.reading()


# J2


def one_key_two_jobs(story: Story) -> Reading:
    first = next(e for e in story.log if isinstance(e, Submitted))
    story.log.append(replace(first, job_id="killed"))
    return story.reading()


def one_key_two_bodies(story: Story) -> Reading:
    first = next(e for e in story.log if isinstance(e, Submitted))
    story.log.append(replace(first, body="other"))
    return story.reading()


def carried_out_unseen(story: Story) -> Reading:
    """The job is there, but no answer told of it, and no key stands for it."""
    story.log = [e for e in story.log if not (isinstance(e, Submitted) and e.job_id == "plain")]
    return story.reading()


# J3


def in_no_index(story: Story) -> Reading:
    return with_indexes(story.reading(), awaiting_review=frozenset())


def in_two_indexes(story: Story) -> Reading:
    return with_indexes(story.reading(), due={"waiting": 1})


def in_an_index_for_nothing(story: Story) -> Reading:
    return with_indexes(story.reading(), due={"nobody": 1})


def still_in_line(story: Story) -> Reading:
    job = story.reading().jobs["plain"]
    assert job.kept is not None
    return with_indexes(story.reading(), lines={job.kept.line: ["plain"]})


def miscounted(story: Story) -> Reading:
    return with_indexes(story.reading(), counts={"succeeded": 5})


def due_at_another_time(story: Story) -> Reading:
    story.submit("stuck")
    return with_indexes(story.reading(), due={"stuck": 1})


def listed_elsewhere(story: Story) -> Reading:
    reading = story.reading()
    assert reading.indexes is not None
    listed = {**reading.indexes.listed, Status.FAILED: frozenset({"plain"})}
    return with_indexes(reading, listed=listed)


# J4


def two_leases(story: Story) -> Reading:
    events = story.events["killed"]
    return with_events(
        story.reading(), "killed", numbered(e for e in events if e.kind != "lease_lost")
    )


def epoch_not_raised(story: Story) -> Reading:
    reading = story.reading()
    kept = reading.jobs["killed"].kept
    assert kept is not None
    return with_job(reading, "killed", kept=replace(kept, epoch=1))


def lease_left(story: Story) -> Reading:
    reading = story.reading()
    kept = reading.jobs["plain"].kept
    assert kept is not None
    return with_job(reading, "plain", kept=replace(kept, leased=True))


# J5


def a_zombie_writes(story: Story) -> Reading:
    events = list(story.events["killed"])
    lost = next(i for i, e in enumerate(events) if e.kind == "lease_lost")
    late = replace(events[lost], kind="run_finished", data={"id": "r9"})
    return with_events(
        story.reading(), "killed", numbered([*events[: lost + 1], late, *events[lost + 1 :]])
    )


def a_zombie_writes_while_another_holds_the_job(story: Story) -> Reading:
    events = story.events["killed"]
    (at,) = [i for i, e in enumerate(events) if e.kind == "model_called" and e.epoch == 2][:1]
    late = replace(events[at], data={"call": "late"}, epoch=1)
    return with_events(
        story.reading(), "killed", numbered([*events[: at + 1], late, *events[at + 1 :]])
    )


def test_events_of_a_release_that_noted_no_epoch_are_not_held_against_it() -> None:
    reading = a_story().reading()
    for job_id, job in reading.jobs.items():
        reading = with_events(reading, job_id, [replace(e, epoch=None) for e in job.events])
    assert check(a_story().log, reading, BOUNDS).as_text() == ""


# J6


def ends_twice(story: Story) -> Reading:
    events = said(story.events["plain"], "failed", {"reason": "internal"})
    return with_events(story.reading(), "plain", events)


def told_behind_the_end(story: Story) -> Reading:
    events = said(story.events["plain"], "planned", {"steps": []})
    return with_events(story.reading(), "plain", events)


def comes_alive_again(story: Story) -> Reading:
    for status in ("succeeded", "running"):
        story.log.append(Seen(job_id="plain", status=status))
    return story.reading()


def ends_otherwise(story: Story) -> Reading:
    story.log.append(Seen(job_id="plain", status="failed"))
    return story.reading()


# J7


def a_crash_not_counted(story: Story) -> Reading:
    events = [
        replace(e, data={**e.data, "crashes": 2}) if e.kind == "lease_lost" else e
        for e in story.events["killed"]
    ]
    return with_events(story.reading(), "killed", events)


def poisoned_at_once(story: Story) -> Reading:
    story.submit("poison")
    story.claim("poison", 11)
    story.fail("poison", Reason.POISONED)
    return story.reading()


# J8


def late_recovery(story: Story) -> Reading:
    story.at = 1.2
    story.log.append(Struck(at=story.moment(), fault="worker-kill", pids=(11,)))
    story.events["killed"] = [
        replace(e, at=e.at + 60_000) if e.seq > 3 else e for e in story.events["killed"]
    ]
    return story.reading()


def no_recovery(story: Story) -> Reading:
    story.submit("left")
    story.claim("left", 77)
    story.at += 1
    story.log.append(Struck(at=story.moment(), fault="child-kill", pids=(77,)))
    return story.reading()


# J9


def worked_on_while_it_waits(story: Story) -> Reading:
    events = said(story.events["waiting"], "started", {"attempt": 2, "worker": "host:12:abc"})
    return with_events(story.reading(), "waiting", events)


def waits_with_a_lease(story: Story) -> Reading:
    reading = story.reading()
    kept = reading.jobs["waiting"].kept
    assert kept is not None
    return with_job(reading, "waiting", kept=replace(kept, leased=True))


def answered_and_still_waiting(story: Story) -> Reading:
    events = said(story.events["waiting"], "decided", {"review_id": "r1", "action": "approve"})
    return with_events(story.reading(), "waiting", events)


@pytest.mark.parametrize("kind", ["review_reminded", "review_escalated", "review_expired", "voted"])
def test_events_of_an_open_review_do_not_close_it(kind: str) -> None:
    story = a_story()
    events = said(story.events["waiting"], kind, {"review_id": "r1"})
    reading = with_events(story.reading(), "waiting", events)
    assert check(story.log, reading, BOUNDS).as_text() == ""


def waits_for_nothing(story: Story) -> Reading:
    return with_job(story.reading(), "waiting", review_id=None)


# J10


def granted_twice(story: Story) -> Reading:
    story.log.append(story.decided("reviewed", 202))
    return story.reading()


def granted_and_not_kept(story: Story) -> Reading:
    story.log.append(story.decided("waiting", 202, Action.DELEGATE))
    return story.reading()


def refused_and_kept(story: Story) -> Reading:
    story.log = [e for e in story.log if type(e).__name__ != "Decided"]
    story.log.append(story.decided("reviewed", 409))
    return story.reading()


def test_after_an_error_of_the_server_a_decision_may_be_on_record() -> None:
    story = a_story()
    story.log = [e for e in story.log if type(e).__name__ != "Decided"]
    story.log += [story.decided("reviewed", 503), story.decided("reviewed", 409)]
    assert check(story.log, story.reading(), BOUNDS).as_text() == ""


def decided_twice(story: Story) -> Reading:
    events = list(story.events["reviewed"])
    at = next(i for i, e in enumerate(events) if e.kind == "decided")
    return with_events(story.reading(), "reviewed", numbered([*events[: at + 1], *events[at:]]))


def decided_unasked(story: Story) -> Reading:
    events = list(story.events["reviewed"])
    events = [
        replace(e, data={**e.data, "review_id": "r2"}) if e.kind == "decided" else e for e in events
    ]
    return with_events(story.reading(), "reviewed", events)


def rejected_and_went_on(story: Story) -> Reading:
    events = [
        replace(e, data={**e.data, "action": "reject"}) if e.kind == "decided" else e
        for e in story.events["reviewed"]
    ]
    return with_events(story.reading(), "reviewed", events)


# J11


def called_after_its_cancel(story: Story) -> Reading:
    story.at += BOUNDS.cancel + 1
    story.log.append(Called(at=story.moment(), key="key-cancelled", said="more", caller=11))
    return story.reading()


def test_a_worker_that_was_frozen_may_send_what_it_was_about_to_send() -> None:
    story = a_story()
    story.at += BOUNDS.cancel + 1
    story.log.append(Mended(at=story.moment(), fault="worker-freeze"))
    reading = called_after_its_cancel(story)
    assert check(story.log, reading, BOUNDS).as_text() == ""


def cancelled_and_succeeded(story: Story) -> Reading:
    story.log.append(story.cancelled("plain", 202))
    return story.reading()


def refused_and_cancelled(story: Story) -> Reading:
    story.log = [e for e in story.log if type(e).__name__ != "Cancelled"]
    story.log.append(story.cancelled("cancelled", 409))
    return story.reading()


# J12


def an_event_lost(story: Story) -> Reading:
    events = story.events["plain"]
    return with_events(story.reading(), "plain", [e for e in events if e.seq != 2])


def said_twice(story: Story) -> Reading:
    events = list(story.events["plain"])
    return with_events(story.reading(), "plain", numbered([*events[:3], events[2], *events[3:]]))


def a_key_too_many(story: Story) -> Reading:
    reading = story.reading()
    kept = reading.jobs["plain"].kept
    assert kept is not None
    return with_job(reading, "plain", kept=replace(kept, facts=kept.facts + 1))


def a_stream_with_a_gap(story: Story) -> Reading:
    story.log = [e for e in story.log if not (isinstance(e, Told) and e.seq == 2)]
    return story.reading()


def a_stream_that_repeats(story: Story) -> Reading:
    story.log.append([e for e in story.log if isinstance(e, Told)][-1])
    return story.reading()


def a_stream_that_lies(story: Story) -> Reading:
    story.log = [replace(e, kind="failed") if isinstance(e, Told) else e for e in story.log]
    return story.reading()


# J13


def paid_again(story: Story) -> Reading:
    story.log.append(Called(at=story.moment(), key="key-killed", said="plan", caller=12))
    return story.reading()


def asked_twice_by_one_attempt(story: Story) -> Reading:
    call = next(e for e in story.log if isinstance(e, Called) and e.key == "key-plain")
    story.log.append(call)
    return story.reading()


def charged_more_than_asked(story: Story) -> Reading:
    story.charges["plain"] |= {"x", "y"}
    return story.reading()


def told_and_not_charged(story: Story) -> Reading:
    story.charges["plain"].clear()
    return story.reading()


# J14


def a_sandbox_left(story: Story) -> Reading:
    story.log.append(Left(pid=4711, command="bwrap", why="outlives its worker"))
    return story.reading()


DOCTORED: dict[str, tuple[Doctor, ...]] = {
    "J1": (accepted_and_gone, accepted_and_stuck),
    "J2": (one_key_two_jobs, one_key_two_bodies, carried_out_unseen),
    "J3": (
        *(in_no_index, in_two_indexes, in_an_index_for_nothing, still_in_line),
        *(miscounted, due_at_another_time, listed_elsewhere),
    ),
    "J4": (two_leases, epoch_not_raised, lease_left),
    "J5": (a_zombie_writes, a_zombie_writes_while_another_holds_the_job),
    "J6": (ends_twice, told_behind_the_end, comes_alive_again, ends_otherwise),
    "J7": (a_crash_not_counted, poisoned_at_once),
    "J8": (late_recovery, no_recovery),
    "J9": (
        worked_on_while_it_waits,
        waits_with_a_lease,
        waits_for_nothing,
        answered_and_still_waiting,
    ),
    "J10": (
        *(granted_twice, granted_and_not_kept, refused_and_kept, decided_twice),
        *(decided_unasked, rejected_and_went_on),
    ),
    "J11": (called_after_its_cancel, cancelled_and_succeeded, refused_and_cancelled),
    "J12": (
        *(an_event_lost, said_twice, a_key_too_many),
        *(a_stream_with_a_gap, a_stream_that_repeats, a_stream_that_lies),
    ),
    "J13": (
        *(paid_again, asked_twice_by_one_attempt, charged_more_than_asked),
        told_and_not_charged,
    ),
    "J14": (a_sandbox_left,),
}


def upgraded(*, struck: bool, action: Action = Action.APPROVE) -> Story:
    """One whose job was parked for its checkpoints, and what a person said of that."""
    story = a_story()
    story.submit("old")
    story.claim("old", 11)
    story.call("old", "plan", 11)
    story.requeue("old")
    if struck:
        story.log.append(Struck(at=story.moment(), fault=UNREAD, jobs=("old",)))
    story.at += 1
    story.claim("old", 12)
    record = story.records["old"]
    format_9 = GraphFormat(9, "9.0.0")
    asked = upgrade.question(record, format_9, (1,), GraphFormat(1, "1.0.0"))
    story.park("old", asked)
    story.decide("old", action, asked.id)
    if action is Action.APPROVE:
        story.claim("old", 12)
        story.work("old", "planned", {"steps": []})
        story.call("old", "plan", 12, number=2)
        story.succeed("old")
    return story


def test_a_job_is_begun_anew_only_where_its_checkpoints_were_touched() -> None:
    verdict = upgraded(struck=True).verdict()
    assert (verdict.as_text(), verdict.repeated_paid_calls) == ("", 0)
    assert [v.rule for v in upgraded(struck=False).verdict().violations] == ["J13"]


def test_a_job_is_incompatible_only_where_its_checkpoints_were_touched() -> None:
    assert upgraded(struck=True, action=Action.REJECT).verdict().as_text() == ""
    untouched = upgraded(struck=False, action=Action.REJECT).verdict()
    assert [v.rule for v in untouched.violations] == ["J1"]


def test_every_rule_is_doctored() -> None:
    assert set(DOCTORED) == set(CHECKS) == {f"J{n}" for n in range(1, 15)}


@pytest.mark.parametrize(
    ("rule", "doctor"), [(rule, each) for rule, doctors in DOCTORED.items() for each in doctors]
)
def test_a_broken_rule_is_found(rule: str, doctor: Doctor) -> None:
    story = a_story()
    verdict = story.verdict(doctor(story))
    assert rule in {violation.rule for violation in verdict.violations}, verdict.as_text()


def outcome(kills: int, planned: int, reading: Reading | None = None) -> Outcome:
    verdict = a_story().verdict() if reading is None else check([], reading, BOUNDS)
    struck = {"child-kill": kills, "worker-freeze": 1}
    due = {"child-kill": planned, "worker-freeze": 3}
    return Outcome(verdict, 1.0, due, struck, kills, {}, ())


def test_the_docs_name_every_key_of_the_object() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "drills.md").read_text()
    named = docs.partition("## `fettle chaos")[2].partition("Keys of the object:")[2]
    found = set(re.findall(r"`(\w+)`", named.partition("\n## ")[0]))
    assert report.plain(outcome(8, 10), 1).keys() == found - {"all"}


def test_a_run_in_which_little_was_broken_is_not_passed() -> None:
    assert outcome(8, 10).passed
    assert outcome(8, 10).missed == {"child-kill": 2, "worker-freeze": 2}
    assert not outcome(7, 10).passed
    assert outcome(0, 0).passed, "where none was to come"
    assert not outcome(8, 10, Reading({})).passed, "no job was there to be lost"


def test_lost_jobs_and_double_ends_are_counted() -> None:
    story = a_story()
    assert story.verdict(accepted_and_gone(story)).lost == ("plain",)
    assert story.verdict(ends_twice(story)).finished_twice == ("plain",)
    assert story.verdict(paid_again(story)).repeated_paid_calls == 1


def test_a_recovery_is_measured_from_the_kill_to_the_next_attempt() -> None:
    story = a_story()
    story.at = 3.0
    story.log.append(Struck(at=story.moment(), fault="worker-kill", pids=(11,)))
    verdict = story.verdict()
    assert verdict.as_text() == ""
    assert verdict.recoveries == (2.0,)
    assert (verdict.recovery_p50, verdict.recovery_max) == (2.0, 2.0)


def test_what_a_frozen_worker_had_lost_before_it_was_killed_is_no_recovery() -> None:
    story = a_story()
    story.at = 6.0
    story.log.append(Struck(at=story.moment(), fault="worker-kill", pids=(11,)))
    assert story.verdict().recoveries == ()


@pytest.mark.parametrize(("waited", "late"), [(2.0, []), (8.0, [("J8", "twice")])])
def test_a_job_that_has_to_run_alone_may_wait_for_its_process_to_start(waited, late) -> None:
    story = a_story()
    story.submit("twice")
    for pid in (21, 22):
        story.claim("twice", pid)
        story.at += 0.1
        story.log.append(Struck(at=story.moment(), fault="child-kill", pids=(pid,)))
        story.at += 3.0
        story.expire("twice")
    story.at += waited
    story.claim("twice", 23, alone=True)
    story.succeed("twice")
    verdict = story.verdict()
    assert verdict.recoveries_alone == pytest.approx((3.0 + waited,))
    assert verdict.recoveries == pytest.approx((3.0, 3.0 + waited))
    assert [(v.rule, v.job_id) for v in verdict.violations] == late


def test_a_time_without_redis_is_not_the_recoverys() -> None:
    story = a_story()
    story.at = 3.0
    story.log.append(Struck(at=story.moment(), fault="worker-kill", pids=(11,)))
    story.log.append(Struck(at=story.moment(0.5), fault="redis-stop", blinds=True))
    story.log.append(Mended(at=story.moment(1.5), fault="redis-stop"))
    assert story.verdict().recoveries == (1.0,)


def test_a_frozen_worker_may_ask_what_another_has_asked_meanwhile() -> None:
    story = a_story()
    story.log.append(Called(at=story.moment(), key="key-killed", said="code", caller=11))
    verdict = story.verdict()
    assert verdict.repeated_paid_calls == 1  # by the same attempt: it had asked already
    story = a_story()
    asked = ("key-killed", "code")
    story.log = [e for e in story.log if not isinstance(e, Called) or (e.key, e.said) != asked]
    for pid in (12, 11):
        story.log.append(Called(at=story.moment(), key="key-killed", said="code", caller=pid))
    assert (story.verdict().repeated_in_flight, story.verdict().as_text()) == (1, "")


def taken_back(asked_first: str, *asked_again: str) -> Story:
    """A worker loses a job in the midst of a call, and claims it again. The provider comes to that
    call (`asked_first`) only then."""
    story = a_story()
    story.submit("back")
    story.claim("back", 11)
    story.at += 3.0
    story.expire("back")
    story.claim("back", 11)
    story.log.append(Called(at=story.moment(), key="key-back", said=asked_first, caller=11))
    for said in asked_again:
        story.call("back", said, 11)
    return story


def test_a_call_may_be_logged_when_its_worker_has_the_job_again() -> None:
    story = taken_back("plan", "plan")
    story.succeed("back")
    assert (story.verdict().as_text(), story.verdict().repeated_in_flight) == ("", 2)


def test_a_job_that_was_claimed_again_excuses_no_call_too_many() -> None:
    story = taken_back("plan", "plan")
    story.log.append(Called(at=story.moment(), key="key-back", said="plan", caller=11))
    assert story.verdict().repeated_paid_calls == 1, "a third time"
    story = taken_back("plan")
    story.work("back", "model_called", {"call": "back-plan"})
    story.charges["back"].add("back-plan")
    story.at += 0.1
    story.log.append(Called(at=story.moment(), key="key-back", said="plan", caller=11))
    assert story.verdict().repeated_paid_calls == 1, "the attempt had the answer"


def test_a_job_alone_asks_by_the_name_of_the_worker_that_made_its_process() -> None:
    """The worker had lost the job before, and lives."""
    story = a_story()
    story.submit("alone")
    for pid in (21, 22):
        story.claim("alone", pid)
        story.call("alone", "plan", pid, recorded=False)
        story.at += 3.0
        story.expire("alone")
    story.claim("alone", 23, alone=True)
    story.call("alone", "plan", 21)
    story.call("alone", "code", 21)
    story.succeed("alone")
    assert (story.verdict().as_text(), story.verdict().repeated_in_flight) == ("", 3)
    story.log.append(Called(at=story.moment(), key="key-alone", said="code", caller=21))
    assert story.verdict().repeated_paid_calls == 1


def test_a_request_without_an_answer_may_or_may_not_be_done() -> None:
    story = a_story()
    story.log = [
        replace(e, status=None, **({"job_id": None} if isinstance(e, Submitted) else {}))
        if type(e).__name__ in ("Submitted", "Decided", "Cancelled")
        else e
        for e in story.log
    ]
    story.log.append(story.decided("waiting", None))
    story.log.append(story.cancelled("plain", None))
    assert story.verdict().as_text() == ""


def test_what_is_read_through_the_api_is_judged_as_far_as_it_goes() -> None:
    story = a_story()
    reading = story.reading()
    jobs = {job_id: replace(job, kept=None) for job_id, job in reading.jobs.items()}
    found = Reading(jobs)
    verdict = check(story.log, found, BOUNDS)
    assert verdict.as_text() == ""
    assert {"J3", "J7", "J8", "J14"} <= {r for r, w in verdict.not_looked_at.items() if w == WHOLE}
    assert verdict.not_looked_at["J4"] == "epochs and leases on record"
    assert "J13" not in verdict.not_looked_at
    silent = [entry for entry in story.log if not isinstance(entry, Called)]
    assert check(silent, found, BOUNDS).not_looked_at["J13"] == WHOLE
    story.log.append(Struck(at=story.moment(), fault="worker-kill", pids=(99,)))
    assert story.verdict().not_looked_at == {}
    assert check(story.log, without(found, "plain"), BOUNDS).lost == ("plain",)


def test_an_heir_goes_on_with_its_parents_calls() -> None:
    story = a_story()
    story.submit("heir", retry_of="cancelled")
    story.work("heir", "model_called", {"call": "cancelled-plan"})
    story.claim("heir", 12)
    story.at += 10
    story.log.append(Called(at=story.moment(), key="key-cancelled", said="code", caller=12))
    story.succeed("heir")
    moment = story.moment()
    story.log.append(Retried(at=moment, asked=moment, status=202, job_id="cancelled", heir="heir"))
    assert story.verdict().as_text() == ""
