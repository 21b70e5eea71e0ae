"""The checker finds violations of each rule: a checker that cannot fail is worthless."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cases.chaos_story import BOUNDS, Story, a_story, with_job

from jobs.model.events import Event
from jobs.model.record import GraphFormat, Reason, Status
from jobs.model.review import Action
from jobs.transitions import upgrade
from lab.drills.chaos import report
from lab.drills.chaos.checks.checker import CHECKS
from lab.drills.chaos.checks.checkpoints import UNREAD
from lab.drills.chaos.deployment.reading import Reading
from lab.drills.chaos.drill import ChaosOutcome
from lab.drills.chaos.oplog import (
    Called,
    Cancelled,
    Decided,
    Entry,
    Left,
    Received,
    Repaired,
    Retried,
    Seen,
    Struck,
    Submitted,
)

Doctor = Callable[[Story], Reading]
Events = list[Event]


def job(job_id: str, **fields: Any) -> Doctor:
    """Change the fields of a job on record."""
    return lambda story: with_job(story.reading(), job_id, **fields)


def events(job_id: str, change: Callable[[Events], Iterable[Event]]) -> Doctor:
    """Replace the events of a job on record, numbered without a gap."""

    def doctor(story: Story) -> Reading:
        changed = change(list(story.events[job_id]))
        numbered = tuple(replace(event, seq=seq) for seq, event in enumerate(changed, 1))
        facts = 0 if story.records[job_id].cannot_continue else len(numbered)
        return with_job(story.reading(), job_id, events=numbered, facts=facts)

    return doctor


def one_more(job_id: str, kind: str, **data: Any) -> Doctor:
    """Append an event to a job."""
    return events(job_id, lambda recorded: [*recorded, replace(recorded[-1], kind=kind, data=data)])


def with_data(job_id: str, kind: str, **data: Any) -> Doctor:
    """Change the data of a kind of events."""
    return events(
        job_id,
        lambda recorded: [
            replace(e, data={**e.data, **data}) if e.kind == kind else e for e in recorded
        ],
    )


def indexes(**fields: Any) -> Doctor:
    """List a job in another index."""

    def doctor(story: Story) -> Reading:
        reading = story.reading()
        return replace(reading, indexes=replace(reading.indexes, **fields))

    return doctor


def logged(make: Callable[[Story], Iterable[Entry]]) -> Doctor:
    """Add entries to the log."""

    def doctor(story: Story) -> Reading:
        story.log += make(story)
        return story.reading()

    return doctor


def without(kind: type[Entry], *more: Callable[[Story], Entry], seq: int = 0) -> Doctor:
    """Remove the entries of a kind (or a single event) from the log, and add `more`."""

    def doctor(story: Story) -> Reading:
        story.log = [
            entry
            for entry in story.log
            if not isinstance(entry, kind) or (seq and getattr(entry, "seq", seq) != seq)
        ]
        story.log += [make(story) for make in more]
        return story.reading()

    return doctor


def first_submitted(story: Story, **fields: Any) -> list[Entry]:
    return [replace(next(e for e in story.log if isinstance(e, Submitted)), **fields)]


def accepted_and_gone(story: Story) -> Reading:
    reading = story.reading()
    return replace(reading, jobs={name: j for name, j in reading.jobs.items() if name != "plain"})


def accepted_and_stuck(story: Story) -> Reading:
    story.submit("stuck")
    return story.reading()


def due_at_another_time(story: Story) -> Reading:
    story.submit("stuck")
    return indexes(due={"stuck": 1})(story)


def carried_out_unseen(story: Story) -> Reading:
    """The job exists, but no answer and no key names it."""
    story.log = [e for e in story.log if not (isinstance(e, Submitted) and e.job_id == "plain")]
    return story.reading()


def listed_elsewhere(story: Story) -> Reading:
    listed = {**story.reading().indexes.listed, Status.FAILED: frozenset({"plain"})}
    return indexes(listed=listed)(story)


def still_in_line(story: Story) -> Reading:
    return indexes(lines={story.reading().jobs["plain"].line: ["plain"]})(story)


def a_zombie_writes(recorded: Events) -> Events:
    lost = next(i for i, e in enumerate(recorded) if e.kind == "lease_lost")
    late = replace(recorded[lost], kind="run_finished", data={"id": "r9"})
    return [*recorded[: lost + 1], late, *recorded[lost + 1 :]]


def a_zombie_writes_while_another_holds_the_job(recorded: Events) -> Events:
    at = next(i for i, e in enumerate(recorded) if e.kind == "model_called" and e.epoch == 2)
    late = replace(recorded[at], data={"call": "late"}, epoch=1)
    return [*recorded[: at + 1], late, *recorded[at + 1 :]]


def poisoned_at_once(story: Story) -> Reading:
    story.submit("poison")
    story.claim("poison", 11)
    story.fail("poison", Reason.POISONED)
    return story.reading()


def late_recovery(story: Story) -> Reading:
    story.at = 1.2
    story.log.append(Struck(at=story.moment(), fault="worker-kill", pids=(11,)))
    late = [replace(e, at=e.at + 60_000) if e.seq > 3 else e for e in story.events["killed"]]
    story.events["killed"] = late
    return story.reading()


def no_recovery(story: Story) -> Reading:
    story.submit("left")
    story.claim("left", 77)
    story.at += 1
    story.log.append(Struck(at=story.moment(), fault="child-kill", pids=(77,)))
    return story.reading()


def called_after_its_cancel(story: Story) -> Reading:
    story.at += BOUNDS.cancel + 1
    story.log.append(Called(at=story.moment(), key="key-cancelled", said="more", caller=11))
    return story.reading()


def a_stream_that_lies(story: Story) -> Reading:
    story.log = [replace(e, kind="failed") if isinstance(e, Received) else e for e in story.log]
    return story.reading()


def charged_more_than_asked(story: Story) -> Reading:
    story.charges["plain"] |= {"x", "y"}
    return story.reading()


def logged_and_not_charged(story: Story) -> Reading:
    story.charges["plain"].clear()
    return story.reading()


def paid_again(story: Story) -> Reading:
    story.log.append(Called(at=story.moment(), key="key-killed", said="plan", caller=12))
    return story.reading()


ends_twice = one_more("plain", "failed", reason="internal")
DOCTORED: dict[str, tuple[Doctor, ...]] = {
    "J1": (accepted_and_gone, accepted_and_stuck),
    "J2": (
        logged(lambda story: first_submitted(story, job_id="killed")),
        logged(lambda story: first_submitted(story, body="other")),
        carried_out_unseen,
    ),
    "J3": (
        indexes(awaiting_review=frozenset()),
        indexes(due={"waiting": 1}),
        indexes(due={"nobody": 1}),
        indexes(counts={"succeeded": 5}),
        *(still_in_line, due_at_another_time, listed_elsewhere),
    ),
    "J4": (
        events("killed", lambda recorded: [e for e in recorded if e.kind != "lease_lost"]),
        job("killed", epoch=1),
        job("plain", leased=True),
    ),
    "J5": (
        events("killed", a_zombie_writes),
        events("killed", a_zombie_writes_while_another_holds_the_job),
    ),
    "J6": (
        ends_twice,
        one_more("plain", "planned", steps=[]),
        logged(lambda _: [Seen(job_id="plain", status=s) for s in ("succeeded", "running")]),
        logged(lambda _: [Seen(job_id="plain", status="failed")]),
    ),
    "J7": (with_data("killed", "lease_lost", crashes=2), poisoned_at_once),
    "J8": (late_recovery, no_recovery),
    "J9": (
        one_more("waiting", "started", attempt=2, worker="host:12:abc"),
        one_more("waiting", "decided", review_id="r1", action="approve"),
        job("waiting", leased=True),
        job("waiting", review_id=None),
    ),
    "J10": (
        logged(lambda story: [story.decided("reviewed", 202)]),
        logged(lambda story: [story.decided("waiting", 202, Action.DELEGATE)]),
        without(Decided, lambda story: story.decided("reviewed", 409)),
        events("reviewed", lambda recorded: [e for e in recorded for _ in range(1 + decides(e))]),
        with_data("reviewed", "decided", review_id="r2"),
        with_data("reviewed", "decided", action="reject"),
    ),
    "J11": (
        called_after_its_cancel,
        logged(lambda story: [story.cancelled("plain", 202)]),
        without(Cancelled, lambda story: story.cancelled("cancelled", 409)),
    ),
    "J12": (
        lambda story: with_job(
            story.reading(), "plain", events=story.events["plain"][:1] + story.events["plain"][2:]
        ),
        events("plain", lambda recorded: [*recorded[:3], recorded[2], *recorded[3:]]),
        job("plain", facts=99),
        without(Received, seq=2),
        logged(lambda story: [e for e in story.log if isinstance(e, Received)][-1:]),
        a_stream_that_lies,
    ),
    "J13": (
        paid_again,
        logged(lambda story: [e for e in story.log if isinstance(e, Called)][:1]),
        charged_more_than_asked,
        logged_and_not_charged,
    ),
    "J14": (logged(lambda _: [Left(pid=4711, command="bwrap", why="outlives its worker")]),),
}


def decides(event: Event) -> bool:
    return event.kind == "decided"


def test_every_rule_has_a_violating_story() -> None:
    assert set(DOCTORED) == set(CHECKS) == {f"J{n}" for n in range(1, 15)}


@pytest.mark.parametrize(
    ("rule", "doctor"), [(rule, doctor) for rule, doctors in DOCTORED.items() for doctor in doctors]
)
def test_a_broken_rule_is_found(rule: str, doctor: Doctor) -> None:
    story = a_story()
    verdict = story.verdict(doctor(story))
    assert rule in {violation.rule for violation in verdict.violations}, verdict.as_text()


def test_an_ordinary_story_breaks_no_rule() -> None:
    verdict = a_story().verdict()
    assert verdict.as_text() == ""
    assert (verdict.jobs, verdict.lost, verdict.finished_twice) == (6, (), ())
    assert verdict.statuses == {"succeeded": 4, "awaiting_review": 1, "cancelled": 1}
    assert (verdict.repeated_in_flight, verdict.repeated_paid_calls) == (1, 0)


@pytest.mark.parametrize("kind", ["review_reminded", "review_escalated", "review_expired", "voted"])
def test_events_of_an_open_review_do_not_close_it(kind: str) -> None:
    story = a_story()
    assert story.verdict(one_more("waiting", kind, review_id="r1")(story)).as_text() == ""


def test_a_frozen_worker_may_send_its_prepared_call() -> None:
    story = a_story()
    story.at += BOUNDS.cancel + 1
    story.log.append(Repaired(at=story.moment(), fault="worker-freeze"))
    assert story.verdict(called_after_its_cancel(story)).as_text() == ""


def upgraded(*, struck: bool, action: Action = Action.APPROVE) -> Story:
    """A run with a job that was parked because of its checkpoints, and with the decision of a
    person.
    """
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
    review = upgrade.upgrade_review(record, format_9, (1,), GraphFormat(1, "1.0.0"))
    story.park("old", review)
    story.decide("old", action, review.id)
    if action is Action.APPROVE:
        story.claim("old", 12)
        story.work("old", "planned", {"steps": []})
        story.call("old", "plan", 12, number=2)
        story.succeed("old")
    return story


def test_a_job_restarts_only_if_its_checkpoints_were_damaged() -> None:
    verdict = upgraded(struck=True).verdict()
    assert (verdict.as_text(), verdict.repeated_paid_calls) == ("", 0)
    assert [v.rule for v in upgraded(struck=False).verdict().violations] == ["J13"]


def test_a_job_is_incompatible_only_if_its_checkpoints_were_damaged() -> None:
    assert upgraded(struck=True, action=Action.REJECT).verdict().as_text() == ""
    untouched = upgraded(struck=False, action=Action.REJECT).verdict()
    assert [v.rule for v in untouched.violations] == ["J1"]


def outcome(kills: int, planned: int, jobs: int = 6) -> ChaosOutcome:
    struck = {"child-kill": kills, "worker-freeze": 1}
    due = {"child-kill": planned, "worker-freeze": 3}
    return ChaosOutcome(replace(a_story().verdict(), jobs=jobs), 1.0, due, struck, kills, {}, ())


def test_the_docs_name_every_key_of_the_object() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "drills.md").read_text()
    key_section = docs.partition("## `fettle chaos")[2].partition("Keys of the object:")[2]
    documented_keys = set(re.findall(r"`(\w+)`", key_section.partition("\n## ")[0]))
    assert report.plain(outcome(8, 10), 1).keys() == documented_keys


def test_a_run_with_few_faults_does_not_pass() -> None:
    assert outcome(8, 10).passed
    assert outcome(8, 10).missed == {"child-kill": 2, "worker-freeze": 2}
    assert not outcome(7, 10).passed
    assert not outcome(8, 10, jobs=0).passed, "no job was there to be lost"


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


@pytest.mark.parametrize(("waited", "late"), [(2.0, []), (11.0, [("J8", "twice")])])
def test_a_job_that_runs_alone_may_wait_for_the_start_of_its_process(waited, late) -> None:
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


def test_time_without_redis_does_not_count_in_a_recovery() -> None:
    story = a_story()
    story.at = 3.0
    story.log.append(Struck(at=story.moment(), fault="worker-kill", pids=(11,)))
    story.log.append(Struck(at=story.moment(0.5), fault="redis-stop", blinds=True))
    story.log.append(Repaired(at=story.moment(1.5), fault="redis-stop"))
    assert story.verdict().recoveries == (1.0,)


def test_a_frozen_worker_may_repeat_a_call_of_another_worker() -> None:
    story = a_story()
    story.log.append(Called(at=story.moment(), key="key-killed", said="code", caller=11))
    verdict = story.verdict()
    assert verdict.repeated_paid_calls == 1  # the same attempt had already made this call
    story = a_story()
    call = ("key-killed", "code")
    story.log = [e for e in story.log if not isinstance(e, Called) or (e.key, e.said) != call]
    for pid in (12, 11):
        story.log.append(Called(at=story.moment(), key="key-killed", said="code", caller=pid))
    assert (story.verdict().repeated_in_flight, story.verdict().as_text()) == (1, "")


def taken_back(first_call: str, *asked_again: str) -> Story:
    """A worker loses a job during a call, and claims the job again. The provider receives the call
    `first_call` only then.
    """
    story = a_story()
    story.submit("back")
    story.claim("back", 11)
    story.at += 3.0
    story.expire("back")
    story.claim("back", 11)
    story.log.append(Called(at=story.moment(), key="key-back", said=first_call, caller=11))
    for question in asked_again:
        story.call("back", question, 11)
    return story


def test_a_call_may_be_logged_after_its_worker_claimed_the_job_again() -> None:
    story = taken_back("plan", "plan")
    story.succeed("back")
    assert (story.verdict().as_text(), story.verdict().repeated_in_flight) == ("", 2)


def test_a_second_claim_does_not_excuse_an_additional_call() -> None:
    story = taken_back("plan", "plan")
    story.log.append(Called(at=story.moment(), key="key-back", said="plan", caller=11))
    assert story.verdict().repeated_paid_calls == 1, "a third time"
    story = taken_back("plan")
    story.work("back", "model_called", {"call": "back-plan"})
    story.charges["back"].add("back-plan")
    story.at += 0.1
    story.log.append(Called(at=story.moment(), key="key-back", said="plan", caller=11))
    assert story.verdict().repeated_paid_calls == 1, "the attempt had the answer"


def test_a_lone_job_calls_under_the_name_of_the_worker_that_started_its_process() -> None:
    """The worker lost the job before, and still lives."""
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
        if isinstance(e, Submitted | Decided | Cancelled)
        else e
        for e in story.log
    ]
    story.log.append(story.decided("waiting", None))
    story.log.append(story.cancelled("plain", None))
    assert story.verdict().as_text() == ""


def test_a_retry_continues_with_the_calls_of_its_parent() -> None:
    story = a_story()
    story.submit("retry_job", retry_of="cancelled")
    story.work("retry_job", "model_called", {"call": "cancelled-plan"})
    story.claim("retry_job", 12)
    story.at += 10
    story.log.append(Called(at=story.moment(), key="key-cancelled", said="code", caller=12))
    story.succeed("retry_job")
    moment = story.moment()
    story.log.append(
        Retried(at=moment, asked=moment, status=202, job_id="cancelled", retry_job="retry_job")
    )
    assert story.verdict().as_text() == ""
