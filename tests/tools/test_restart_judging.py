"""The drill's judgement: a good job passes, and each fault is named."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fettle.events import ReceivedEvent
from lab.drills.restart.drill import JobVerdict, RestartOutcome
from lab.drills.restart.judging import CALLS, JobState, finished, lost_facts, paused

WAITING = JobState("j", "awaiting_review", 1, CALLS, 1_050, ("r1",), "review-1", None)
DONE = replace(WAITING, status="succeeded", attempts=2, review=None, approved_by="first key")
KINDS = (
    *("submitted", "started", "model_called", "planned", "model_called", "run_finished"),
    *("model_called", "answered", "review_opened", "decided", "started", "summarized"),
    "succeeded",
)


def counts(*kinds: str, workers: str = "ab") -> list[ReceivedEvent]:
    """Counts of events, in order; each start is by another worker."""
    names = iter(workers)
    return [
        ReceivedEvent(
            seq, datetime.now(UTC), kind, {"worker": next(names)} if kind == "started" else {}
        )
        for seq, kind in enumerate(kinds, start=1)
    ]


def test_a_job_without_faults_passes():
    assert list(paused(WAITING)) == []
    assert list(lost_facts(WAITING, WAITING)) == []
    assert list(finished(WAITING, DONE, counts(*KINDS))) == []


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (replace(WAITING, status="failed", review=None), "does not wait"),
        (replace(WAITING, calls=4), "4 model calls and 1 runs"),
        (replace(WAITING, runs=()), "3 model calls and 0 runs"),
    ],
)
def test_a_job_that_does_not_wait_as_expected(before: JobState, reason: str):
    assert any(reason in wrong for wrong in paused(before))


def test_a_restart_must_not_change_a_job():
    assert list(lost_facts(WAITING, replace(WAITING, review="review-2")))
    assert list(lost_facts(WAITING, replace(WAITING, tokens=0)))


@pytest.mark.parametrize(
    ("after", "events", "reason"),
    [
        (replace(DONE, status="failed"), counts(*KINDS), "ended as failed"),
        (replace(DONE, approved_by=None), counts(*KINDS), "nobody"),
        (replace(DONE, calls=4), counts(*KINDS), "calls were repeated: 3 before, 4 after"),
        (replace(DONE, runs=("r1", "r2")), counts(*KINDS), "repeated"),
        (DONE, counts(*KINDS, "succeeded"), "succeeded came 2 times"),
        (DONE, counts(*KINDS, "model_called"), "model_called came 4 times"),
        (DONE, counts(*KINDS)[1:], "gaps"),
        (DONE, counts(*KINDS, workers="aa"), "worked on by a"),
    ],
)
def test_faults_after_the_restart_are_named(
    after: JobState, events: list[ReceivedEvent], reason: str
):
    assert any(reason in wrong for wrong in finished(WAITING, after, events))


def test_one_job_with_a_fault_fails_the_drill():
    well = JobVerdict("a", "succeeded", 2, 3, 3, 1, ())
    assert RestartOutcome((well, well), 1.0, 1.0).passed
    assert not RestartOutcome((well, replace(well, wrong=("it ended as failed",))), 1.0, 1.0).passed
    assert not RestartOutcome((), 1.0, 1.0).passed
