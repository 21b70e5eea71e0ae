"""What a verdict may say, by what the runs show."""

from __future__ import annotations

from typing import Any

import pytest

from agents.evidence import UNREADABLE, Said, best_answer, judged, lacking, succeeded


def run(number: int, revision: int = 1, *, ok: bool = True) -> dict[str, Any]:
    return {"id": f"r{number}", "number": number, "revision": revision, "succeeded": ok}


def state(*runs: dict[str, Any], revision: int = 1, task: str = "Add.", **more: Any) -> Any:
    return {"job": {"task": task}, "revision": revision, "runs": list(runs), **more}


def approval(named: str | None = None) -> Said:
    return Said(verdict="approve", feedback="Fine.", run=named)


def test_an_approval_with_a_successful_run_stands() -> None:
    critique = judged(state(run(1, ok=False), run(2)), approval("r2"))
    assert critique == {
        "revision": 1, "verdict": "approve", "feedback": "Fine.", "run": "r2", "overruled": None,
    }  # fmt: skip


@pytest.mark.parametrize("named", [None, "", "none", "r9"])
def test_an_approval_that_names_no_run_rests_on_the_latest_success(named: str | None) -> None:
    critique = judged(state(run(1), run(2), run(3, ok=False)), approval(named))
    assert (critique["verdict"], critique["run"]) == ("approve", "r2")


@pytest.mark.parametrize("named", ["r1", "1", "run 1", "Run #1"])
def test_a_run_is_named_in_many_ways(named: str) -> None:
    assert judged(state(run(1), run(2)), approval(named))["run"] == "r1"


def test_an_approval_that_rests_on_a_failed_run_is_turned_around() -> None:
    critique = judged(state(run(1), run(2, ok=False)), approval("r2"))
    assert critique["verdict"] == "revise"
    assert critique["overruled"] == "run r2, on which the approval would rest, did not succeed"


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([], "nothing has been run yet"),
        ([run(1, ok=False)], "no run has succeeded"),
        ([run(1, 1), run(2, 2, ok=False)], "no run has succeeded"),  # r1 is of an older revision
    ],
)
def test_an_approval_without_evidence_is_turned_around(runs: list[Any], why: str) -> None:
    critique = judged(state(*runs, revision=2), approval())
    assert (critique["verdict"], critique["overruled"]) == ("revise", why)
    assert why in critique["feedback"]
    assert critique["feedback"].endswith("Fine.")


def test_a_revision_without_runs_of_its_own_rests_on_the_job_s() -> None:
    assert judged(state(run(1, 1), revision=2), approval())["run"] == "r1"


def test_a_plot_must_have_been_saved() -> None:
    bare = state(run(1), task="Plot it.")
    assert "no image file" in str(judged(bare, approval())["overruled"])
    saved = state(run(1), task="Plot it.", artifacts={"a.png": {}})
    assert judged(saved, approval())["overruled"] is None


def test_a_critic_may_always_send_back() -> None:
    critique = judged(state(run(1)), Said(verdict="revise", feedback="Why?", run="r1"))
    assert (critique["verdict"], critique["feedback"], critique["run"]) == ("revise", "Why?", "r1")
    assert critique["overruled"] is None


@pytest.mark.parametrize(
    ("runs", "verdict", "rests_on"),
    [
        ([], "revise", None),
        ([run(1)], "approve", "r1"),
        ([run(1), run(2, ok=False)], "revise", None),  # the latest one failed
        ([run(1, ok=False), run(2)], "approve", "r2"),
    ],
)
def test_the_rules_stand_in_for_a_critic_that_cannot_be_read(
    runs: list[Any], verdict: str, rests_on: str | None
) -> None:
    critique = judged(state(*runs), None)
    assert (critique["verdict"], critique["run"]) == (verdict, rests_on)
    assert critique["overruled"] == UNREADABLE


def test_a_person_s_run_counts() -> None:
    assert succeeded([{**run(1), "by": "Ada"}], 1)
    assert lacking(state(run(1, ok=False), {**run(2), "by": "Ada"})) is None


def answers(*texts: str) -> list[dict[str, Any]]:
    return [{"revision": n, "text": text} for n, text in enumerate(texts, 1)]


def test_the_best_answer_is_the_approved_one_else_the_latest_that_ran() -> None:
    runs = [run(1, 1), run(2, 2, ok=False)]
    exhausted = state(*runs, revision=2, answers=answers("ran", "broke"), approved_by=None)
    assert best_answer(exhausted) == "ran"
    assert best_answer({**exhausted, "approved_by": "Ada"}) == "broke"
    assert best_answer({**exhausted, "runs": []}) == "broke"
    assert best_answer({"job": {}}) == ""
