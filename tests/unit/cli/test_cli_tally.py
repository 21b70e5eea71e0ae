"""The tally follows a job through its stages."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce

from cli.client.events import Event
from cli.follow.totals import Stage, Totals, after

ASKED = {"role": "executor", "input_tokens": 100, "output_tokens": 10, "cost_usd": "0.001"}


def told(*events: tuple[str, dict]) -> Totals:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    numbered = (Event(seq, at, kind, data) for seq, (kind, data) in enumerate(events, 1))
    return reduce(after, numbered, Totals())


BEGUN = (("submitted", {"review": True}), ("started", {}), ("planned", {"steps": ["a", "b"]}))


def test_a_job_goes_from_the_queue_to_its_code():
    totals = told(*BEGUN, ("model_called", ASKED), ("run_finished", {}))
    assert (totals.stage, totals.calls, totals.runs, totals.tokens) == (Stage.CODE, 1, 1, 110)
    assert totals.cost == Decimal("0.001")


def test_one_unknown_price_makes_the_sum_unknown_for_good():
    totals = told(*BEGUN, ("model_called", {**ASKED, "cost_usd": None}), ("model_called", ASKED))
    assert totals.cost is None


def test_a_review_stops_it_and_a_revision_sends_it_back():
    opened = (*BEGUN, ("review_opened", {}))
    assert told(*opened).stage is Stage.REVIEW
    again = told(*opened, ("decided", {"action": "revise"}))
    assert (again.stage, again.revision) == (Stage.CODE, 2)
    assert told(*opened, ("decided", {"action": "delegate"})).stage is Stage.VERDICT


def test_without_a_review_an_answer_goes_to_the_critic():
    totals = told(
        ("submitted", {"review": False}), ("planned", {"steps": ["a", "b"]}), ("answered", {})
    )
    assert totals.stage is Stage.VERDICT


def test_a_restart_does_not_go_back_to_the_plan():
    totals = told(*BEGUN, ("lease_lost", {}), ("started", {}))
    assert totals.stage is Stage.CODE


def test_the_end_is_the_end():
    assert told(*BEGUN, ("failed", {})).stage is Stage.DONE


def test_the_steps_at_work_are_known_as_far_as_they_are_told():
    assert told(*BEGUN).at == frozenset()
    totals = told(*BEGUN, ("step_started", {"step": 1}), ("step_started", {"step": 2}))
    assert (totals.at, totals.steps) == ({1, 2}, 2)
    assert told(*BEGUN, ("step_started", {"step": 1}), ("step_finished", {"step": 1})).at == set()
