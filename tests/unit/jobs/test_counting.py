"""The amounts that a job adds to its tenant's statistics."""

from __future__ import annotations

from dataclasses import replace

from support.jobs.job_examples import NOW, RESULT, claimed, decision, queued, review

from jobs.counting import WAIT_BUCKETS, count_change
from jobs.model.events import Event
from jobs.model.record import Reason
from jobs.model.review import Action
from jobs.model.spec import JobKind, JobSpec
from jobs.store import Charge
from jobs.store.outbox import deliveries_of
from jobs.transitions import lifecycle
from jobs.view.stats import render_stats, savings

SECOND = 1_000


def events_after_claim(*facts):
    """Events after the claim, one second apart."""
    kinds = [("started", {}), *facts]
    return [Event(seq, NOW + seq * SECOND, *fact) for seq, fact in enumerate(kinds, start=1)]


def run(*, succeeded: bool = True, revision: int = 1, **more):
    data = {"succeeded": succeeded, "seconds": 0.5, "revision": revision, **more}
    return ("run_finished", data)


def model_call(role: str, seconds: float):
    return ("model_called", {"role": role, "seconds": seconds})


def counts_at_end(*facts, charges=(), result=RESULT):
    change = lifecycle.succeed(claimed(queued()), NOW + 60 * SECOND, result=result)
    return count_change(claimed(queued()), change, events_after_claim(*facts), charges)


def test_a_job_is_counted_by_its_outcome():
    counts = counts_at_end()
    assert (counts["ended|succeeded"], counts["approved|critic"]) == (1, 1)
    for by, approver in ((None, "nobody"), ("ann", "person")):
        assert counts_at_end(result=replace(RESULT, approved_by=by))[f"approved|{approver}"] == 1
    failing = lifecycle.fail(claimed(queued()), NOW, reason=Reason.DEADLINE, detail="late")
    counts = count_change(claimed(queued()), failing, events_after_claim(), ())
    assert (counts["ended|failed"], counts["reason|deadline"]) == (1, 1)
    assert not any(name.startswith("success|") for name in counts)


def test_an_exercise_of_a_benchmark_counts_apart():
    exercise = replace(claimed(queued()), spec=JobSpec("x", kind=JobKind.EXERCISE))
    change = lifecycle.succeed(exercise, NOW, result=RESULT)
    charge = Charge("c", "executor", "m", 10, 20, "0.5")
    counts = count_change(exercise, change, events_after_claim(run()), [charge])
    assert counts.keys() == {"exercised|succeeded", "exercises_cost"}
    assert render_stats({"2026-11-21": counts}, {})["exercises"] == {"jobs": 1, "cost_usd": "0.5"}
    assert deliveries_of(change) == ()


def test_an_override_is_neither_a_first_try_nor_a_repair():
    approved = replace(RESULT, approved_by="ann")
    failed_once = (run(succeeded=False), run())
    assert counts_at_end(*failed_once, result=approved)["success|repaired"] == 1
    counts = counts_at_end(*failed_once, result=replace(approved, override=True))
    assert {name: n for name, n in counts.items() if name.startswith("success|")} == {
        "success|overridden": 1
    }


def test_money_is_counted_exactly_and_unknown_prices_are_counted_separately():
    charges = [
        Charge("a", "critic", "groq:m", 100, 10, "0.00000059"),
        Charge("b", "critic", "groq:m", 1, 1, "0.1"),
        Charge("c", "planner", "groq:m", 1, 1, "0.2"),
        Charge("d", "planner", "x:y", 5, 7, None),
        Charge("e", "planner", "x:z", 0, 0, None),
    ]
    counts = counts_at_end(charges=charges)
    assert counts["cost|groq:m"] == 300_000_590_000
    assert (counts["calls|groq:m"], counts["input|groq:m"], counts["output|groq:m"]) == (3, 102, 12)
    assert (counts["unpriced|x:y"], counts["calls|x:y"]) == (1, 1)
    assert "cost|x:y" not in counts
    assert (counts["unreported|x:z"], counts["unpriced|x:z"]) == (1, 0)


def test_jobs_that_the_router_saw_are_counted_by_difficulty():
    charges = [Charge("a", "critic", "groq:m", 1, 1, "0.1"), Charge("b", "x", "x:y", 1, 1, "0.2")]
    routed = ("routed", {"difficulty": "hard"})
    approved = counts_at_end(routed, charges=charges)
    assert approved["difficulty_cost|hard"] == 300_000_000_000
    unapproved = counts_at_end(routed, result=replace(RESULT, approved_by=None))
    assert [counts["difficulty_approved|hard"] for counts in (approved, unapproved)] == [1, 0]
    stats = render_stats({"d1": approved, "d2": unapproved, "d3": counts_at_end()}, {})
    row = {"difficulty": "hard", "jobs": 2, "approved": 1, "mean_cost_usd": "0.15"}
    assert stats["difficulties"] == [row]


def test_savings_compare_with_the_strongest_model_of_the_escalation():
    charges = [
        Charge("a", "executor", "groq:small", 1_000_000, 100_000, "0.5"),
        Charge("b", "executor", "groq:large", 1_000_000, 100_000, "9"),
        Charge("c", "executor", "x:unknown", 1_000_000, 100_000, None),
    ]
    models = render_stats({"d1": counts_at_end(charges=charges)}, {})["models"]
    large = {"name": "groq:large", "input_usd": "3", "output_usd": "10"}
    levels = [["groq:small"], ["groq:large", "groq:small"]]
    announced = {"roles": {"executor": levels}, "offered": [large]}
    assert savings(models, announced) == {"model": "groq:large", "usd": "3.5"}
    for lacking in (
        {},
        {"roles": {"executor": levels[:1]}, "offered": [large]},
        {"roles": {"executor": levels}, "offered": [{**large, "output_usd": None}]},
        {"roles": {"executor": levels}},
    ):
        assert savings(models, lacking) is None


def test_time_is_counted_by_stage():
    counts = counts_at_end(
        model_call("planner", 1.5),
        run(),
        model_call("critic", 0.25),
        model_call("critic", 0.5),
        ("review_opened", {}),
        ("decided", {}),
    )
    spent = {name[9:]: ms for name, ms in counts.items() if name.startswith("stage_ms|")}
    assert spent == {
        "queue": 0,
        "planner": 1_500,
        "run": 500,
        "critic": 750,
        "review": SECOND,
        "whole": 60 * SECOND,
    }
    assert counts["stage_jobs|critic"] == 1


def test_inherited_events_and_charges_are_not_counted_again():
    inherited = [Event(1, NOW, "submitted", {}), Event(2, NOW, *run(succeeded=False))]
    new_events = [Event(3, NOW, "started", {}), Event(4, NOW, *run())]
    change = lifecycle.succeed(claimed(queued()), NOW, result=RESULT)
    counts = count_change(claimed(queued()), change, inherited + new_events, ())
    assert (counts["runs|succeeded"], "runs|failed" in counts) == (1, False)


def test_a_decision_adds_the_waiting_time_of_its_review():
    opened = replace(review(), opened_at=NOW)
    paused = lifecycle.pause(claimed(queued()), NOW, review=opened).after

    def waited(seconds: float, **given):
        now = NOW + int(seconds * SECOND)
        return count_change(
            paused, lifecycle.decide(paused, now, decision=decision(**given)), (), ()
        )

    assert waited(10) == {"decided|approve": 1, "wait|0": 1, "wait_ms": 10_000}
    assert waited(10.001)["wait|1"] == 1
    assert waited(WAIT_BUCKETS[-1] + 1)[f"wait|{len(WAIT_BUCKETS)}"] == 1
    rejected = waited(1, action=Action.REJECT, feedback="no")
    assert (rejected["decided|reject"], rejected["ended|failed"]) == (1, 1)
