"""The job as JSON, from records and events alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.jobs.job_examples import NOW, claimed, queued, review
from support.pages.api_front import a_run, charge

from jobs.model.events import Event
from jobs.model.record import Reason, Result, Status
from jobs.view import job as view


def fact(seq, kind, **data):
    return Event(seq, NOW + seq, kind, data)


def artifact(name, digest):
    return {"name": name, "digest": digest, "size": 1, "media_type": "image/png"}


def whole(record, *events, charges=(), now=NOW):
    return view.whole(record, events, charges, now)


def test_times_are_utc_with_milliseconds():
    assert view.iso(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert view.iso(None) is None


def test_a_new_job_says_what_was_asked_and_nothing_yet():
    shown = whole(queued(labels=("a",)))
    assert shown["status"] == "queued"
    assert shown["spec"]["task"] == "add 1 and 1"
    assert shown["spec"]["labels"] == ["a"]
    assert (shown["plan"], shown["runs"], shown["critique"], shown["review"]) == (
        None,
        [],
        None,
        None,
    )
    assert shown["result"] is None
    assert shown["started_at"] is None
    assert shown["conversation_id"] == "j1"


def test_plan_runs_and_critiques_come_from_events():
    shown = whole(
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
    assert shown["plan"]["steps"] == ["new"]
    assert [run["number"] for run in shown["runs"]] == [1, 2]
    assert shown["critique"]["verdict"] == "approve"
    assert len(shown["critiques"]) == 2
    assert shown["decisions"][0]["by"] == "bob"
    assert shown["last_event"] == 8
    assert shown["runs"][0]["at"] == view.iso(NOW + 5)


def test_of_an_artifact_the_newest_version_counts():
    events = [
        fact(1, "run_finished", **a_run(1, artifacts=[artifact("a", "1"), artifact("b", "2")])),
        fact(2, "run_finished", **a_run(2, artifacts=[artifact("a", "3")])),
    ]
    assert {name: made["digest"] for name, made in view.artifacts(events).items()} == {
        "a": "3",
        "b": "2",
    }
    assert [made["name"] for made in whole(queued(), *events)["artifacts"]] == ["a", "b"]


def test_a_run_is_found_by_its_number():
    events = [fact(1, "run_finished", **a_run(1)), fact(2, "run_finished", **a_run(7))]
    assert view.run(events, 7)["id"] == "run-7"
    assert view.run(events, 2) is None


def test_cost_adds_up_exactly_by_role():
    shown = view.cost(
        [
            charge("a", "planner", "0.1"),
            charge("b", "planner", "0.2", 150),
            charge("c", "critic", "1"),
        ]
    )
    assert shown["roles"]["planner"] == {
        "calls": 2,
        "input_tokens": 200,
        "cached_input_tokens": 150,
        "output_tokens": 20,
        "cost_usd": "0.3",
        "known_usd": "0.3",
    }
    assert shown["total"]["cost_usd"] == "1.3"


def test_an_unknown_price_is_never_a_silent_zero():
    shown = view.cost([charge("a", "planner", "0.000001"), charge("b", "executor", None)])
    assert shown["roles"]["planner"]["cost_usd"] == "0.000001"
    assert shown["roles"]["executor"]["cost_usd"] is None
    assert shown["total"]["cost_usd"] is None
    assert shown["total"]["known_usd"] == "0.000001"


def test_running_time_counts_the_present_attempt():
    record = replace(claimed(queued()), ran_ms=1_500)
    assert whole(record, now=NOW + 2_000)["ran_seconds"] == pytest.approx(3.5)
    assert whole(replace(record, claimed_at=None), now=NOW + 9_000)["ran_seconds"] == 1.5


def test_the_open_review_and_the_result_are_shown_whole():
    record = replace(queued(), status=Status.AWAITING_REVIEW, review=review("r9"))
    shown = whole(record)["review"]
    assert (shown["id"], shown["kind"]) == ("r9", "review")
    assert shown["payload"]["answer"] == "42"
    ended = replace(queued(), reason=Reason.REJECTED, result=Result("a", "bob", override=True))
    assert whole(ended)["reason"] == "rejected"
    assert whole(ended)["result"] == {
        "answer": "a",
        "approved_by": "bob",
        "override": True,
        "artifacts": [],
        "checks": None,
        "verification": None,
    }


def test_a_summary_needs_the_record_alone():
    record = replace(queued(), review=review("r9"), result=Result("a", "critic"))
    shown = view.summary(record)
    assert (shown["open_review"], shown["approved_by"]) == ("r9", "critic")
    assert shown["created_at"] == view.iso(NOW)


def test_an_event_carries_its_number_and_time():
    shown = view.event(fact(3, "planned", steps=[]))
    assert shown == {"seq": 3, "at": view.iso(NOW + 3), "kind": "planned", "data": {"steps": []}}


def test_what_a_tool_has_written_is_an_artifact_too():
    wrote = {"tool": "write_file", "path": "a", "ok": True, "note": ""}
    events = [
        fact(1, "tool_used", **wrote, artifacts=[artifact("a", "1")]),
        fact(2, "run_finished", **a_run(1, artifacts=[artifact("b", "2"), artifact("a", "3")])),
        fact(3, "tool_used", **wrote, artifacts=[artifact("b", "4")]),
        fact(4, "tool_used", tool="list_dir", path=".", ok=True, note="", artifacts=[]),
    ]
    assert {name: made["digest"] for name, made in view.artifacts(events).items()} == {
        "a": "3",
        "b": "4",
    }
