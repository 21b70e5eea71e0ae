"""Which verdicts are allowed, given the result of the verification."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agents.evidence.record import NOT_EXECUTABLE
from agents.evidence.verdict import (
    NOT_VERIFIED,
    Verdict,
    critique_of,
    feedback_text,
    missing_evidence,
    overridden_problem,
)
from agents.nodes.review import decision_update

RED = "the verification `pytest` failed: 1 failed"
NO_PROGRAM = f"{NOT_EXECUTABLE}: the answer rests on no run"


def run(number: int, *, ok: bool = True) -> dict[str, Any]:
    return {"id": f"r{number}", "number": number, "revision": 1, "succeeded": ok}


def verified(problem: str | None = None, run: str | None = "r2", revision: int = 1) -> Any:
    holds = problem is None
    return {"revision": revision, "run": run, "holds": holds, "problem": problem}


def state(
    verification: Any = None, *, job: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A job of two runs; the second run is its verification."""
    return {
        "job": {"task": "Add.", **(job or {})},
        "revision": 1,
        "runs": [run(1), run(2)],
        "verifications": [verification or verified()],
        **more,
    }


def approval(*run_ids: str, **more: Any) -> Verdict:
    return Verdict(verdict="approve", feedback="Fine.", runs=[*run_ids], **more)


def test_an_approval_that_the_verification_supports_is_valid() -> None:
    assert critique_of(state(), approval("r1", "run 2", "r9", "r1, r2")) == {
        "revision": 1, "verdict": "approve", "feedback": "Fine.", "overruled": None,
        "unmet": [], "runs": ["r1", "r2"], "by": "critic", "ends": None, "checks": None,
    }  # fmt: skip


def test_an_approval_that_names_no_run_is_based_on_the_verification() -> None:
    assert critique_of(state(), approval())["runs"] == ["r2"]


UNMET = {"criterion": "floats", "location": "add.py:3", "reason": "it takes whole numbers only"}


@pytest.mark.parametrize(
    ("value", "criteria"),
    [
        ([UNMET], [UNMET]),
        (UNMET, [UNMET]),
        (["floats"], [{"criterion": "floats", "location": "", "reason": ""}]),
        ("floats", [{"criterion": "floats", "location": "", "reason": ""}]),
        (["None.", "", "n/a"], []),
        ("nothing", []),
        ([{"criterion": "None", "location": "n/a", "reason": "all are met"}], []),
        ([{"criterion": "", "location": "", "reason": ""}, {}, None], []),
        (
            [{"location": "add.py:3", "reason": "no floats"}],
            [{"criterion": "no floats", "location": "add.py:3", "reason": ""}],
        ),
    ],
)
def test_unmet_criteria_are_read_in_each_form_that_models_write(value: Any, criteria: Any) -> None:
    verdict = Verdict.model_validate({"verdict": "revise", "unmet": value})
    assert critique_of(state(), verdict)["unmet"] == criteria


def test_an_approval_with_empty_unmet_criteria_is_valid() -> None:
    empty = [{"criterion": "none", "location": "", "reason": ""}]
    verdict = Verdict.model_validate({"verdict": "approve", "unmet": empty})
    assert critique_of(state(), verdict)["verdict"] == "approve"
    with pytest.raises(ValidationError):  # not read as an empty list: the model is asked again
        Verdict.model_validate({"verdict": "approve", "unmet": [{"name": "floats"}]})


def test_a_reply_with_the_fields_of_older_recordings_is_read() -> None:
    older = {"verdict": "approve", "run": "r2", "runs": ["r1"], "score": 1, "failed": ["floats"]}
    critique = critique_of(state(), Verdict.model_validate(older))
    assert (critique["verdict"], critique["runs"]) == ("revise", ["r2", "r1"])
    assert critique["overruled"] == "the critic names criteria that are not met: floats"


def test_the_executor_gets_location_and_reason_of_each_unmet_criterion() -> None:
    verdict = Verdict.model_validate({"verdict": "revise", "feedback": "Go on.", "unmet": [UNMET]})
    line = "floats (add.py:3): it takes whole numbers only"
    assert feedback_text(critique_of(state(), verdict)) == f"Go on.\n\nNot met:\n- {line}"
    alone = critique_of(state(), verdict.model_copy(update={"feedback": ""}))
    assert feedback_text(alone) == line


MARKERS = "conflict markers are left: a.md"
FAILED = {"id": "test_a.py::test_a", "outcome": "failed", "detail": ""}
UNPASSED = {"revision": 1, "passed": False, "problem": None, "tests": [FAILED]}
COPIES = {
    "conflicts": [{"path": "a.py", "steps": [1, 2], "copies": ["a.conflict-step2.py"]}],
    "artifacts": {"a.conflict-step2.py": {}},
}


@pytest.mark.parametrize(
    ("now", "problem"),
    [
        (state(verified(RED)), RED),
        (state(verified(NO_PROGRAM, None)), NO_PROGRAM),
        ({**state(), "verifications": []}, NOT_VERIFIED),
        (state(verified(revision=0)), NOT_VERIFIED),  # from the previous revision
        (state(checked=UNPASSED), None),
        (state(**COPIES), "copies of conflicting files are left: a.conflict-step2.py"),
    ],
)
def test_an_approval_without_evidence_becomes_a_request_for_revision(
    now: Any, problem: str | None
) -> None:
    critique = critique_of(now, approval("r1"))
    assert (critique["verdict"], critique["by"]) == ("revise", "critic")
    assert critique["overruled"] == (problem or missing_evidence(now))
    assert critique["feedback"] == f"Not approved: {critique['overruled']}.\n\nFine."


@pytest.mark.parametrize(
    ("evidence", "problem", "verdict"),
    [
        ("run", NO_PROGRAM, "revise"),
        ("none", NO_PROGRAM, "approve"),
        ("none", RED, "revise"),
        ("none", NOT_VERIFIED, "revise"),
        ("none", MARKERS, "revise"),
    ],
)
def test_a_job_may_omit_evidence_only_for_files_that_cannot_be_executed(
    evidence: str, problem: str, verdict: str
) -> None:
    now = state(verified(problem, None), job={"evidence": evidence}, runs=[])
    assert critique_of(now, approval())["verdict"] == verdict
    assert missing_evidence(now) == problem  # the approval of a person has priority


def test_a_critic_may_always_request_a_revision() -> None:
    verdict = Verdict.model_validate({"verdict": "revise", "runs": ["r1"], "unmet": ["no tests"]})
    critique = critique_of(state(), verdict)
    assert (critique["verdict"], critique["feedback"], critique["runs"]) == (
        "revise", "no tests", ["r1"],
    )  # fmt: skip
    assert critique["overruled"] is None


_FOUND = st.lists(
    st.builds(
        verified,
        st.sampled_from([None, RED, NO_PROGRAM]),
        st.sampled_from([None, "r1", "r2"]),
        st.integers(1, 2),
    ),
    max_size=3,
)
_SAID = st.none() | st.builds(
    Verdict,
    verdict=st.sampled_from(["approve", "revise"]),
    feedback=st.text(max_size=5),
    runs=st.lists(st.sampled_from(["r1", "r2", "r9"]), max_size=2),
    unmet=st.lists(st.text(min_size=1, max_size=3), max_size=2),
)


@given(_FOUND, _SAID, st.sampled_from([None, UNPASSED, UNPASSED | {"revision": 2}]))
def test_a_failed_last_verification_prevents_approval(
    verifications: list[Any], verdict: Verdict | None, checked: Any
) -> None:
    now = state(checked=checked) | {"verifications": verifications, "revision": 2}
    critique = critique_of(now, verdict)
    if critique["verdict"] == "approve":
        assert verdict is not None
        assert verifications[-1] == verified(None, verifications[-1]["run"], 2)
        assert checked is None or checked["revision"] != 2
        assert not critique["unmet"]
    else:
        assert verdict is None or verdict.verdict == "revise" or critique["overruled"]


@pytest.mark.parametrize("run_id", ["9" * 5_000, "r" + "9" * 5_000])
def test_a_number_of_any_length_names_no_run(run_id: str) -> None:
    verdict = Verdict(verdict="revise", runs=[run_id])
    assert critique_of(state(), verdict)["runs"] == []


@pytest.mark.parametrize(
    ("verification", "more", "problem"),
    [
        (verified(), {}, None),
        (verified(NO_PROGRAM, run=None), {}, None),
        (verified("nothing has been run", run=None), {}, None),
        (verified("still passes when a.py cannot be loaded"), {}, None),
        (verified(MARKERS, run=None), {}, MARKERS),
        (verified(RED), {"runs": [run(1), run(2, ok=False)]}, RED),
        (verified(NO_PROGRAM, run=None), {"runs": [run(1), run(2, ok=False)]}, NO_PROGRAM),
    ],
    ids=[
        *("verified", "a document", "nothing run", "no evidence", "markers", "red"),
        "a failed last run",
    ],
)
def test_a_job_without_required_evidence_has_no_evidence_to_override(
    verification: Any, more: dict[str, Any], problem: str | None
) -> None:
    assert overridden_problem(state(verification, job={"evidence": "none"}, **more)) == problem
    assert overridden_problem(state(verification, **more)) == verification["problem"]


@pytest.mark.parametrize("override", [True, False])
def test_the_override_on_record_counts_for_an_approval(override: bool) -> None:
    decision: Any = {"action": "approve", "by": "ann", "override": override}
    for proven in (True, False):
        assert decision_update(decision, proven=proven, revision=1)["override"] is override
    del decision["override"]
    assert decision_update(decision, proven=False, revision=1)["override"] is True
