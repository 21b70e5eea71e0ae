"""The point at which an attempt continues: by the record, by the checkpoint, or after its parent's
end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langgraph.types import Command, Interrupt, PregelTask, StateSnapshot
from support.jobs.job_examples import queued

from jobs.model.record import JobRecord
from jobs.model.review import Action, Comment, Decision, Side
from jobs.model.spec import JobSpec, ReviewRules
from jobs.transitions import lifecycle
from worker.resumption import (
    Begin,
    Continue,
    UnrecordedEnd,
    UnrecordedPause,
    reopening,
    start_by_checkpoint,
)


def a_record(decision: Decision | None = None) -> JobRecord:
    spec = JobSpec(task="t")
    record = lifecycle.submit("j", "default", spec, 1, by="x", request_id="").after
    return replace(record, decision=decision)


def a_snapshot(
    values: dict[str, Any] | None = None,
    following: tuple[str, ...] = (),
    interrupts: tuple[Interrupt, ...] = (),
    finished: tuple[str, ...] = (),
) -> StateSnapshot:
    tasks = tuple(PregelTask(name, name, ()) for name in (*finished, *following))
    return StateSnapshot(values or {}, following, {}, None, None, None, tasks, interrupts)


PAUSE = Interrupt(value={"plan": []}, id="pause-2")


def test_without_a_checkpoint_the_attempt_starts_the_graph() -> None:
    assert start_by_checkpoint(a_record(), a_snapshot()) == Begin()


def test_between_two_steps_the_attempt_continues() -> None:
    snapshot = a_snapshot({"plan": []}, ("executor",))
    assert start_by_checkpoint(a_record(), snapshot) == Continue(None)


def test_a_decision_answers_the_pause_that_it_names() -> None:
    comment = Comment("a.py", 2, Side.NEW, "Why?", ("-1", "+2"), 1)
    words = {"feedback": "more tests", "comments": (comment,)}
    decision = Decision("pause-2", Action.REVISE, "ann", **words)
    resumed = start_by_checkpoint(a_record(decision), a_snapshot({"plan": []}, ("gate",), (PAUSE,)))
    answer = {
        "action": "revise",
        "feedback": "more tests",
        "code": "",
        "files": {},
        "by": "ann",
        "override": False,
        "comments": [
            {
                "path": "a.py",
                "line": 2,
                "side": "new",
                "text": "Why?",
                "excerpt": ["-1", "+2"],
                "at": 1,
                "base": None,
            }
        ],
    }
    assert resumed == Continue(Command(resume={"pause-2": answer}))


def test_a_decision_for_an_earlier_pause_does_not_answer_a_later_one() -> None:
    decision = Decision("pause-1", Action.APPROVE, "ann")
    resumed = start_by_checkpoint(a_record(decision), a_snapshot({"plan": []}, ("gate",), (PAUSE,)))
    assert resumed == UnrecordedPause(PAUSE)


def test_an_unrecorded_end_of_the_graph_is_used() -> None:
    end = {"summary": "s"}
    assert start_by_checkpoint(a_record(), a_snapshot(end)) == UnrecordedEnd(end)


SENT_BACK = [{"revision": number, "by": "critic"} for number in (1, 2, 3)]
ENDED = {
    "job": {"task": "t", "max_revisions": 3},
    "approved_by": None,
    "exhausted": True,
    "critiques": SENT_BACK,
}
RETRY_JOB = replace(queued("retried"), inherits="parent")
REVIEWED = replace(RETRY_JOB, spec=JobSpec("t", review=True))


def snapshot(values: dict[str, Any], *following: str) -> StateSnapshot:
    tasks = tuple(PregelTask(name, name, ()) for name in following)
    return StateSnapshot(values, following, {}, None, None, None, tasks, ())


def test_work_that_the_critic_sent_back_goes_to_the_executor_with_fresh_revisions() -> None:
    reopen = reopening(RETRY_JOB, snapshot(ENDED))
    assert reopen is not None
    job = reopen.change["job"]
    assert (reopen.after, job["max_revisions"], job["judged_before"]) == ("critic", 6, 3)
    assert reopen.change["exhausted"] is False


@pytest.mark.parametrize("critiques", [[], [*SENT_BACK, {"revision": 4, "by": "rules"}]])
def test_work_that_the_critic_has_not_judged_goes_to_the_verification(critiques: Any) -> None:
    reopen = reopening(RETRY_JOB, snapshot({**ENDED, "critiques": critiques}))
    assert reopen is not None
    assert reopen.after == "executor"


@pytest.mark.parametrize(
    ("record", "checkpoint"),
    [
        (queued("j1"), snapshot(ENDED)),
        (RETRY_JOB, snapshot({})),
        (RETRY_JOB, snapshot(ENDED, "executor")),
        (RETRY_JOB, snapshot(ENDED, "critic")),
        (REVIEWED, snapshot(ENDED, "executor")),
        (REVIEWED, snapshot(ENDED, "review")),
        (REVIEWED, snapshot({**ENDED, "decisions": [{"action": "delegate"}]}, "critic")),
        (RETRY_JOB, snapshot({**ENDED, "approved_by": "critic"})),
    ],
    ids=["own", "nothing", "executor", "critic", "later", "asked", "delegated", "approved"],
)
def test_other_ends_of_the_graph_are_not_continued(
    record: JobRecord, checkpoint: StateSnapshot
) -> None:
    assert reopening(record, checkpoint) is None


def test_a_retry_may_ask_a_person_about_what_the_critic_approved() -> None:
    approved = {**ENDED, "approved_by": "critic"}
    reopen = reopening(REVIEWED, snapshot(approved))
    assert reopen is not None
    assert (reopen.after, reopen.change["approved_by"]) == ("executor", None)
    assert reopening(REVIEWED, snapshot({**approved, "job": reopen.change["job"]})) is None
    decided = {**approved, "decisions": [{"action": "approve"}]}
    assert reopening(REVIEWED, snapshot(decided)) is None


def test_a_retry_at_the_verification_changes_the_decider() -> None:
    changed = [
        reopening(REVIEWED, snapshot(ENDED, "critic")),
        reopening(RETRY_JOB, snapshot(ENDED, "review")),
    ]
    assert [(change.after, change.change) for change in changed if change] == [("executor", {})] * 2


def test_each_job_of_a_chain_of_retries_updates_the_state_once() -> None:
    first = reopening(RETRY_JOB, snapshot(ENDED))
    assert first is not None
    own_end = snapshot({**ENDED, **first.change, "exhausted": True})
    assert reopening(RETRY_JOB, own_end) is None
    assert reopening(replace(RETRY_JOB, id="third", inherits="retried"), own_end) is not None


def test_a_review_rule_takes_the_work_back_from_the_critic() -> None:
    ruled = replace(REVIEWED, spec=replace(REVIEWED.spec, review_rules=ReviewRules(("payments",))))
    delegated = {**ENDED, "decisions": [{"action": "delegate"}]}
    by_critic = {**delegated, "approved_by": "critic"}
    for checkpoint in (
        snapshot(delegated, "critic"),
        snapshot(by_critic, "summarize"),
        snapshot(by_critic),
    ):
        reopen = reopening(ruled, checkpoint)
        assert reopen is not None
        assert reopen.after == "executor"
        assert reopening(REVIEWED, checkpoint) is None
    by_person = {**ENDED, "approved_by": "bob", "decisions": [{"action": "approve"}]}
    assert reopening(ruled, snapshot(by_person, "summarize")) is None


def test_work_that_the_critic_approved_after_a_persons_feedback_is_reviewed_again() -> None:
    approved = {**ENDED, "approved_by": "critic", "decisions": [{"action": "revise"}]}
    for checkpoint in (snapshot(approved), snapshot(approved, "summarize")):
        reopen = reopening(REVIEWED, checkpoint)
        assert reopen is not None
        assert reopen.change["approved_by"] is None
