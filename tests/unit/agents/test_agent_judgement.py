"""What a verdict may say, by what the runs show."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.evidence import unproven
from agents.judgement import AWAY, LEAST_SCORE, UNREADABLE, Said, judged


def run(number: int, revision: int = 1, *, ok: bool = True, **more: Any) -> dict[str, Any]:
    why = None if ok else {"class": "key", "cause": "KeyError", "exception": "KeyError"}
    code = {"text": "x", "dropped_bytes": 0, "digest": None}
    made = {"id": f"r{number}", "number": number, "revision": revision, "code": code}
    return {**made, "succeeded": ok, "failure": why, **more}


def repaired(number: int, *of: str) -> dict[str, Any]:
    """Run `number` has cured these."""
    return {"run": f"r{number}", "of": of[-1], "closed": list(of), "fixed": True}


def state(*runs: dict[str, Any], revision: int = 1, task: str = "Add.", **more: Any) -> Any:
    return {"job": {"task": task}, "revision": revision, "runs": list(runs), **more}


LOOK = run(1, tool="shell", code={"text": "cat sums.py"})


def approval(named: str | None = None, **more: Any) -> Said:
    return Said(verdict="approve", feedback="Fine.", run=named, **more)


def test_an_approval_with_a_successful_run_stands() -> None:
    said = approval("r2", score=0.9, runs=["r1", "run 2", "r9"])
    assert judged(state(run(1, ok=False), run(2)), said) == {
        "revision": 1, "verdict": "approve", "feedback": "Fine.", "run": "r2", "overruled": None,
        "score": 0.9, "failed": [], "runs": ["r1", "r2"], "by": "critic", "ends": None,
        "checks": None,
    }  # fmt: skip


def test_a_recording_of_before_has_neither_score_nor_criteria() -> None:
    critique = judged(state(run(1)), approval())
    assert (critique["verdict"], critique["score"], critique["failed"]) == ("approve", None, [])


def test_how_many_checks_passed_is_kept() -> None:
    tests = [{"id": "a", "outcome": "passed"}, {"id": "b", "outcome": "missing"}]
    checked = {"revision": 1, "passed": False, "problem": None, "tests": tests}
    assert judged(state(run(1), checked=checked), None)["checks"] == {"passed": 1, "total": 2}
    older = {**checked, "revision": 0}
    assert judged(state(run(1), checked=older), None)["checks"] is None


@pytest.mark.parametrize("named", [None, "", "none", "r9"])
def test_an_approval_that_names_no_run_rests_on_the_latest_success(named: str | None) -> None:
    critique = judged(state(run(1), run(2), run(3, ok=False)), approval(named))
    assert (critique["verdict"], critique["run"]) == ("approve", "r2")


@pytest.mark.parametrize(
    "named",
    ["r1", "1", "#1", "run 1", "Run #1", "revision 2, r1", "r1 (revision 2)", "rev 2: run_1"],
)
def test_a_run_is_named_in_many_ways(named: str) -> None:
    assert judged(state(run(1), run(2)), approval(named))["run"] == "r1"


@pytest.mark.parametrize("named", ["revision 1", "1 or 2", "error 1"])
def test_a_number_of_something_else_names_no_run(named: str) -> None:
    said = Said(verdict="revise", feedback="No.", run=named)
    assert judged(state(run(1), run(2)), said)["run"] is None


def test_an_approval_that_rests_on_a_failed_run_is_turned_around() -> None:
    critique = judged(state(run(1), run(2, ok=False)), approval("r2"))
    assert critique["verdict"] == "revise"
    assert critique["overruled"] == "run r2, on which the approval would rest, did not succeed"


def test_a_run_that_only_looked_carries_no_approval() -> None:
    runs = [run(2), {**LOOK, "id": "r3", "number": 3}]
    critique = judged(state(*runs), approval("r3"))
    assert (critique["verdict"], critique["overruled"]) == (
        "revise", "run r3, on which the approval would rest, only looked around",
    )  # fmt: skip
    assert judged(state(*runs), approval())["run"] == judged(state(*runs), None)["run"] == "r2"


def test_a_run_that_checks_what_another_has_made_carries_an_approval() -> None:
    made = {"artifacts": [{"name": "out.csv"}], "tool": "shell", "code": {"text": "python make.py"}}
    read = {**run(2), "tool": "python", "code": {"text": "print(open('out.csv').read())"}}
    left = {"make.py": {}, "out.csv": {}}
    critique = judged(state({**run(1), **made}, read, artifacts=left), approval("r2"))
    assert (critique["verdict"], critique["run"], critique["overruled"]) == ("approve", "r2", None)
    assert judged(state(read, artifacts=left), approval("r2"))["verdict"] == "revise"


def test_a_caught_exception_is_the_critic_s_to_judge_and_the_rules_approve_nothing_on_it() -> None:
    said = (
        "Traceback (most recent call last):\n  File \"/work/a.py\", line 2, in x\nKeyError: 'x'\n"
    )
    caught = run(1, stderr={"text": said})
    assert judged(state(caught), approval("r1"))["verdict"] == "approve"
    alone = judged(state(caught), None)
    assert alone["verdict"] == "revise"
    assert "r1 printed the traceback of KeyError: 'x'" in alone["feedback"]
    assert judged(state(caught, run(2)), None)["verdict"] == "approve"
    stale = state({**run(1), "workspace": "a"}, {**caught, "workspace": "b"}, workspace="b")
    assert judged(stale, None)["verdict"] == "revise"


def test_of_documents_alone_the_critic_may_be_content_with_a_look_and_the_rules_may_not() -> None:
    looked = state(LOOK, artifacts={"README.md": {}})
    assert judged(looked, approval("r1"))["verdict"] == "approve"
    assert judged(looked, None)["verdict"] == "revise"
    assert judged(state(LOOK, artifacts={"sums.py": {}}), approval("r1"))["verdict"] == "revise"


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([], "nothing has been run yet"),
        ([run(1, ok=False)], "no run has succeeded"),
        ([LOOK], "the runs have only looked around: none has run the code"),
    ],
)
def test_an_approval_without_evidence_is_turned_around(runs: list[Any], why: str) -> None:
    critique = judged(state(*runs), approval(score=1.0))
    assert (critique["verdict"], critique["overruled"]) == ("revise", why)
    assert why in critique["feedback"]
    assert critique["feedback"].endswith("Fine.")
    assert ("A look with shell tools" in critique["feedback"]) is (why != "no run has succeeded")


@pytest.mark.parametrize(
    "line", ["python a.py || echo no", "! python a.py", "python -c 'print(1)'"]
)
def test_a_run_that_does_not_show_its_end_is_asked_for_alone(line: str) -> None:
    ran = {**run(1), "tool": "shell", "code": {"text": line}}
    for said in (approval("r1"), None):
        critique = judged(state(ran, artifacts={"a.py": {}}), said)
        assert "no run shows how the code ended" in critique["feedback"]
        assert "alone and as the last command" in critique["feedback"]


def test_an_approval_of_files_that_were_not_run_is_turned_around() -> None:
    critique = judged(state(run(1, workspace="a"), workspace="b"), approval("r1"))
    assert critique["overruled"] == "files were changed after the last run that succeeded"
    assert "Run the code as it is now" in critique["feedback"]


def test_an_approval_with_too_low_a_score_is_turned_around() -> None:
    low = judged(state(run(1)), approval(score=LEAST_SCORE - 0.1))
    assert (low["verdict"], low["overruled"]) == (
        "revise",
        "the critic's score of 0.6 is below 0.7",
    )
    assert judged(state(run(1)), approval(score=LEAST_SCORE))["verdict"] == "approve"


def test_an_approval_that_names_failed_criteria_is_turned_around() -> None:
    critique = judged(state(run(1)), approval(score=1.0, failed=["no empty list", "no strings"]))
    assert critique["verdict"] == "revise"
    assert critique["overruled"] == (
        "the critic names criteria that are not met: no empty list; no strings"
    )


@pytest.mark.parametrize("task", ["Plot the chart.", "Draw a bar chart in ASCII.", "A histogram."])
def test_whether_an_image_is_missing_is_the_critics_to_say(task: str) -> None:
    assert judged(state(run(1), task=task), approval("r1"))["verdict"] == "approve"


def test_a_critic_may_always_send_back() -> None:
    said = Said(verdict="revise", feedback="", run="r1", score=1.0, failed=["no tests"])
    critique = judged(state(run(1)), said)
    assert (critique["verdict"], critique["feedback"], critique["run"]) == (
        "revise", "no tests", "r1",
    )  # fmt: skip
    assert critique["overruled"] is None


LOOKS = {"tool": "shell", "code": {"text": "cat missing.txt"}}


@pytest.mark.parametrize(
    ("runs", "repairs", "verdict", "rests_on"),
    [
        ([], [], "revise", None),
        ([run(1)], [], "approve", "r1"),
        ([run(1), run(2, ok=False)], [], "revise", None),  # the latest one failed
        ([run(1, ok=False), run(2)], [repaired(2, "r1")], "approve", "r2"),
        ([run(1, ok=False), run(2)], [], "revise", None),  # the second only looked
        ([run(1, ok=False), run(2), run(3)], [repaired(3, "r1")], "approve", "r3"),
        ([run(1), run(2, ok=False, **LOOKS)], [], "approve", "r1"),  # nobody needs that file
    ],
)
@pytest.mark.parametrize("why", [UNREADABLE, AWAY])
def test_the_rules_stand_in_for_a_critic_that_is_not_heard_and_say_so(
    runs: list[Any], repairs: list[Any], verdict: str, rests_on: str | None, why: str
) -> None:
    critique = judged(state(*runs, repairs=repairs), None, why)
    assert (critique["verdict"], critique["run"]) == (verdict, rests_on)
    assert (critique["overruled"], critique["by"]) == (why, "rules")


def test_the_rules_say_which_failure_is_open_and_the_critic_may_judge_freely() -> None:
    looked = state(run(1, ok=False), run(2))
    feedback = judged(looked, None)["feedback"]
    assert feedback.startswith("Not approved: r1 failed, and no run shows that it is mended.")
    assert judged(looked, approval("r2"))["verdict"] == "approve"


_PROGRAMS = [
    ("python", "import sums"), ("shell", "ls"), ("shell", "python sums.py"), ("run_tests", "pytest")
]  # fmt: skip
_RUNS = st.lists(
    st.tuples(
        st.booleans(), st.integers(1, 3), st.sampled_from("ab"), st.sampled_from(_PROGRAMS),
        st.lists(st.integers(1, 5), max_size=2),
    ),
    max_size=5,
)  # fmt: skip
_SAID = st.none() | st.builds(
    Said,
    verdict=st.sampled_from(["approve", "revise"]),
    feedback=st.text(max_size=5),
    run=st.sampled_from([None, "r1", "r2", "r9"]),
    score=st.none() | st.floats(0, 1),
    failed=st.lists(st.text(min_size=1, max_size=3), max_size=2),
)


@given(_RUNS, _SAID, st.sampled_from("ab"))
def test_nothing_is_approved_without_a_successful_run_of_the_final_files(
    runs: list[Any], said: Said | None, workspace: str
) -> None:
    made, repairs = [], []
    for n, (ok, rev, at, (tool, text), cures) in enumerate(runs, start=1):
        made.append(run(n, rev, ok=ok, workspace=at, tool=tool, code={"text": text}))
        if closed := [f"r{each}" for each in cures if ok and each < n]:
            repairs.append(repaired(n, *closed))
    now = state(*made, revision=3, workspace=workspace, repairs=repairs)
    found = judged(now, said)
    if found["verdict"] == "approve":
        assert unproven(now) is None
        good = [each for each in made if each["succeeded"] and each["code"]["text"] != "ls"]
        assert any(each["workspace"] == workspace for each in good)
        assert found["run"] in [each["id"] for each in good]
        assert not found["failed"]
        assert found["score"] is None or found["score"] >= LEAST_SCORE
    else:
        assert said is None or said["verdict"] == "revise" or found["overruled"]
    if said is None and found["verdict"] == "approve":
        cured = {each for repair in repairs for each in repair["closed"]}
        left = [each for each in made if not each["succeeded"] and each["code"]["text"] != "ls"]
        assert {each["id"] for each in left} <= cured
