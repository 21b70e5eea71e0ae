"""The job as JSON, from its record and its events alone."""

from __future__ import annotations

from dataclasses import asdict, replace

from support.jobs.job_examples import NOW, claimed, queued
from support.pages.api_front import a_run, charge

from jobs.model.events import Event
from jobs.model.record import PatchRef, Push, Result
from jobs.store.types import Charge
from jobs.view.job import format_time, render_cost, render_job


def fact(seq, kind, **data):
    return Event(seq, NOW + seq, kind, data)


def render(record, *events, charges=(), now=NOW):
    return render_job(record, events, charges, now)


def test_a_result_shows_its_patch():
    patch = PatchRef("ab", size=9, files=1, insertions=2, deletions=3, base="cd")
    pushed = Push("fettle/j", "ab", base="main", base_moved=True, note="it has moved")
    result = Result("42", "critic", patch=patch, bundle="ef", delivery=pushed)
    rendered = render(replace(queued(), result=result))["result"]
    assert (rendered["patch"], rendered["bundle"]) == (asdict(patch), "ef")
    assert rendered["delivery"] == asdict(pushed)


def test_the_review_of_an_upgrade_leaves_the_approvals_of_the_work_on_record():
    approved = {"review_id": "r", "action": "approve", "by": "ann", "override": True}
    upgraded = {"review_id": "upgrade-2", "action": "delegate", "by": "operator"}
    record = replace(queued(), result=Result("42", "ann", override=True))
    rendered = render(
        record,
        Event(1, NOW, "review_opened", {"review_id": "r", "kind": "review"}),
        Event(2, NOW, "decided", approved),
        Event(3, NOW, "review_opened", {"review_id": "upgrade-2", "kind": "upgrade"}),
        Event(4, NOW, "decided", upgraded),
    )
    approvals = rendered["result"]["approvals"]
    assert [(vote["by"], vote["override"]) for vote in approvals] == [("ann", True)]


def test_a_person_withdraws_an_approval_with_another_key_and_spelling_of_the_name():
    vote = {"review_id": "r", "by": "grace-laptop", "person": "Grace Hopper"}
    withdrawal = {"review_id": "r", "by": "grace-phone", "person": "grace  hopper"}
    approvals = [{"by": name, "review_id": "r", "action": "approve"} for name in ("ann", "bob")]
    rendered = render(
        replace(queued(), result=Result("42", "ann and bob")),
        Event(1, NOW, "review_opened", {"review_id": "r", "kind": "review"}),
        Event(2, NOW, "voted", vote),
        Event(3, NOW, "vote_withdrawn", withdrawal),
        Event(4, NOW, "voted", approvals[0]),
        Event(5, NOW, "decided", approvals[1]),
    )
    assert [vote["by"] for vote in rendered["result"]["approvals"]] == ["ann", "bob"]


def test_plan_runs_and_critiques_come_from_events():
    rendered = render(
        claimed(queued()),
        fact(1, "submitted", by="ann"),
        fact(2, "planned", steps=["old"], source="model", note=None),
        fact(3, "planned", steps=["new"], source="default", note="unreadable"),
        fact(4, "run_finished", **a_run(2)),
        fact(5, "run_finished", **a_run(1)),
        fact(6, "critiqued", revision=1, verdict="revise", feedback="no", run="run-1"),
        fact(7, "critiqued", revision=2, verdict="approve", feedback="", run="run-2"),
        fact(8, "decided", review_id="r", action="revise", by="bob", feedback="x", override=False),
    )
    assert rendered["plan"]["steps"] == ["new"]
    assert [run["number"] for run in rendered["runs"]] == [1, 2]
    assert rendered["critique"]["verdict"] == "approve"
    assert [critique["runs"] for critique in rendered["critiques"]] == [["run-1"], ["run-2"]]
    assert rendered["decisions"][0]["by"] == "bob"
    assert rendered["last_event"] == 8
    assert rendered["runs"][0]["at"] == format_time(NOW + 5)


def test_the_critique_of_an_older_release_is_shown_in_the_form_of_this_one():
    older = {"revision": 1, "verdict": "revise", "feedback": "no", "run": "r2", "score": 0.5}
    rendered = render(
        claimed(queued()), fact(1, "critiqued", **older, runs=["r1", "r2"], failed=["no sum"])
    )["critique"]
    assert rendered["runs"] == ["r2", "r1"]
    assert rendered["unmet"] == [{"criterion": "no sum", "location": "", "reason": ""}]
    assert not {"run", "failed"} & rendered.keys()


def test_cost_adds_up_exactly_by_role():
    rendered = render_cost(
        [
            charge("a", "planner", "0.1"),
            charge("b", "planner", "0.2", 150),
            charge("c", "critic", "1"),
        ]
    )
    assert rendered["roles"]["planner"] == {
        "calls": 2,
        "input_tokens": 200,
        "cached_input_tokens": 150,
        "output_tokens": 20,
        "cost_usd": "0.3",
        "known_usd": "0.3",
    }
    assert rendered["total"]["cost_usd"] == "1.3"


def test_an_unknown_price_is_never_shown_as_zero():
    rendered = render_cost([charge("a", "planner", "0.000001"), charge("b", "executor", None)])
    assert rendered["roles"]["planner"]["cost_usd"] == "0.000001"
    assert rendered["roles"]["executor"]["cost_usd"] is None
    assert rendered["total"]["cost_usd"] is None
    assert rendered["total"]["known_usd"] == "0.000001"


def test_unreported_usage_differs_from_an_unknown_price():
    silent = Charge("c", "critic", "x:z", 0, 0, None)
    rendered = render_cost([charge("a", "planner", "1"), charge("b", "executor", None), silent])
    assert "unpriced_calls" not in rendered["roles"]["planner"]
    counts = [
        (rendered["roles"][role]["unpriced_calls"], rendered["roles"][role]["unreported_calls"])
        for role in ("executor", "critic")
    ]
    assert counts == [(1, 0), (0, 1)]
    assert (rendered["total"]["unpriced_calls"], rendered["total"]["unreported_calls"]) == (1, 1)
