"""The verdict: the critic's verdict as far as the verification supports it. Pure.

the current files have no verification that holds -> no approval, even if the critic approves
an acceptance check does not pass                 -> the same
copies of conflicting files exist                 -> the same
conflict markers of a rebase are left             -> the same
the critic itself names an unmet criterion        -> the same: the critic contradicts itself
its reply cannot be read, or it cannot be called  -> no approval, and the job ends
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, cast

from pydantic import BaseModel, Field, model_validator

from agents.checks.reports import report_of, unpassed_checks
from agents.evidence.record import MARKERS_LEFT, NOT_EXECUTABLE, Verification
from agents.parallel.merging import unresolved
from agents.state import Run

CRITIC: Final = "critic"
RULES: Final = "rules"
"""The author of a critique without a critic."""
UNREADABLE = "the critic's reply could not be read"
AWAY = "the critic's model could not be reached"
REFUSED = "the critic's model refuses the request"
NOT_VERIFIED = "the work was not verified"

_ID = re.compile(r"\b(?:r|runs?)[\s#:_-]*(\d{1,9})(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!\d)\d{1,9}(?!\d)")
_ONLY_NUMBERS = re.compile(r"[\W\d]+")
_NAMES_OF_NOTHING = frozenset({"", "none", "nothing", "n/a", "[]"})


class UnmetCriterion(BaseModel):
    """A criterion that is not met."""

    criterion: str = Field(description="what the task asks for")
    location: str = Field("", description="such as shop.py:12")
    reason: str = Field("", description="how the work fails it")

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, value: Any) -> Any:
        """Weak models write the criterion in place of the object, or only a reason."""
        if isinstance(value, dict) and not value.get("criterion") and value.get("reason"):
            return {**value, "criterion": value["reason"], "reason": ""}
        return {"criterion": value} if isinstance(value, str) else value


class Verdict(BaseModel):
    """The verdict on the work."""  # name and text are what models read

    unmet: list[UnmetCriterion] = Field(
        default_factory=list, description="what the task asks for and the work does not do or show"
    )
    verdict: Literal["approve", "revise"]
    feedback: str = Field("", description="what to fix, concretely; may be empty for approve")
    runs: list[str] = Field(
        default_factory=list, description='the runs that show it, the best first, such as ["r1"]'
    )

    @model_validator(mode="before")
    @classmethod
    def _in_one_form(cls, value: Any) -> Any:
        """The fields `run` and `failed` of older recordings, and a value in place of a list."""
        if not isinstance(value, dict):
            return value
        fields = dict(value)
        runs = [*_listed(fields.pop("run", None)), *_listed(fields.get("runs"))]
        fields["runs"] = [str(run) if isinstance(run, int) else run for run in runs]
        unmet = [*_listed(fields.get("unmet")), *_listed(fields.pop("failed", None))]
        fields["unmet"] = [entry for entry in unmet if not _is_empty_form(entry)]
        return fields


class Unmet(TypedDict):
    """An unmet criterion as in events and views. Location and reason may be empty."""

    criterion: str
    location: str
    reason: str


class Critique(TypedDict):
    """A verdict as in events and views."""

    revision: int
    verdict: Literal["approve", "revise"]
    feedback: str
    unmet: list[Unmet]
    runs: list[str]
    """The ids of the runs that the verdict rests on."""
    overruled: str | None
    """The reason why the critic's approval did not count."""
    by: str
    """`critic` or `rules`."""
    ends: str | None
    """The reason why the job ends although revisions are left."""
    checks: dict[str, int] | None
    """{passed, total} of the revision's acceptance checks; None without checks."""


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _is_empty_form(unmet: Any) -> bool:
    """Whether an entry of `unmet` names no criterion: weak models fill in an empty form."""
    if not unmet:
        return True
    if isinstance(unmet, dict) and unmet.keys() <= UnmetCriterion.model_fields.keys():
        texts = (unmet[name] for name in ("criterion", "reason") if unmet.get(name))
        return _is_nothing(next(texts, None))
    return isinstance(unmet, str) and _is_nothing(unmet)


def _is_nothing(text: Any) -> bool:
    return text is None or str(text).strip(" .").lower() in _NAMES_OF_NOTHING


def verification_of(state: Mapping[str, Any]) -> Verification | None:
    """The verification of the current revision, or None."""
    verifications: Sequence[Verification] = state.get("verifications", ())
    return (
        verifications[-1]
        if verifications and verifications[-1]["revision"] == state["revision"]
        else None
    )


def run_of(verification: Mapping[str, Any] | None, state: Mapping[str, Any]) -> Run | None:
    """The run that a verification rests on, or None."""
    if verification is None:
        return None
    runs: Sequence[Run] = state.get("runs", ())
    return next((run for run in runs if run["id"] == verification["run"]), None)


def missing_evidence(state: Mapping[str, Any]) -> str | None:
    """The reason why the critic may not approve the work, or None. A person's approval overrides
    it."""
    if problem := unpassed_checks(state):
        return problem
    if copies := unresolved(state):
        return f"copies of conflicting files are left: {', '.join(copies)}"
    verification = verification_of(state)
    return verification["problem"] if verification else NOT_VERIFIED


def overridden_problem(state: Mapping[str, Any]) -> str | None:
    """The problem that a person's approval overrides, or None. If the job has `evidence: none`,
    missing evidence is not a problem, but an unresolved conflict is, and a failed check,
    verification or last run."""
    problem = missing_evidence(state)
    if problem is None or state["job"].get("evidence") != "none":
        return problem
    if problem.startswith(MARKERS_LEFT):
        return problem
    deciding_runs = [run_of(verification_of(state), state), *state.get("runs", [])[-1:]]
    failed = any(run is not None and not run["succeeded"] for run in deciding_runs)
    return problem if failed or unpassed_checks(state) or unresolved(state) else None


def critique_of(
    state: Mapping[str, Any], verdict: Verdict | None, reason: str = UNREADABLE
) -> Critique:
    """The critique of the current revision; `verdict` is None without a readable reply,
    and `reason` says why."""
    if verdict is None:
        critique_without_verdict = _critique_from(state, Verdict(verdict="revise", feedback=reason))
        return {**critique_without_verdict, "overruled": reason, "by": RULES, "ends": reason}
    critique = _critique_from(state, verdict)
    if verdict.verdict == "revise":
        return critique
    objection = _blocker(state) or _contradiction(critique)
    if objection is None:
        verification = verification_of(state)
        verified = [verification["run"]] if verification and verification["run"] else []
        return {**critique, "verdict": "approve", "runs": critique["runs"] or verified}
    text = f"Not approved: {objection}."
    feedback = "\n\n".join(filter(None, (text, verdict.feedback)))
    return {**critique, "feedback": feedback, "overruled": objection}


def _blocker(state: Mapping[str, Any]) -> str | None:
    """The reason why the critic may not approve, or None. If the job has `evidence: none`, work
    that cannot be executed may be approved."""
    problem = missing_evidence(state)
    if problem and problem.startswith(NOT_EXECUTABLE) and state["job"].get("evidence") == "none":
        return None
    return problem


def feedback_text(critique: Critique) -> str:
    """The critique for the executor: the feedback, and the unmet criteria that are not in it."""
    feedback = critique["feedback"]
    unmet = [criterion for criterion in critique["unmet"] if _line(criterion) not in feedback]
    return f"{feedback}\n\nNot met:\n{_lines(unmet)}" if unmet else feedback


def _lines(unmet: Sequence[Unmet]) -> str:
    return "\n".join(f"- {_line(criterion)}" for criterion in unmet)


def _line(unmet: Unmet) -> str:
    location = f" ({unmet['location']})" if unmet["location"] else ""
    reason = f": {unmet['reason']}" if unmet["reason"] else ""
    return f"{unmet['criterion']}{location}{reason}"


def unmet_count(critique: Mapping[str, Any]) -> int | None:
    """How many criteria a critique names as unmet. None if it names no criterion: then the number
    is not known."""
    # `failed` is of jobs that an older release began.
    unmet = critique.get("unmet") or critique.get("failed") or ()
    return len(unmet) or None


def _critique_from(state: Mapping[str, Any], verdict: Verdict) -> Critique:
    unmet = [cast("Unmet", criterion.model_dump()) for criterion in verdict.unmet]
    return Critique(
        revision=state["revision"],
        verdict="revise",
        feedback=verdict.feedback or "\n".join(map(_line, unmet)),
        unmet=unmet,
        runs=_named_runs(state.get("runs", []), verdict.runs),
        overruled=None,
        by=CRITIC,
        ends=None,
        checks=_checks(state),
    )


def _checks(state: Mapping[str, Any]) -> dict[str, int] | None:
    """{passed, total} of the revision's checks."""
    report = report_of(state)
    outcomes = [test["outcome"] for test in report.get("tests", ())] if report else []
    return {"passed": outcomes.count("passed"), "total": len(outcomes)} if outcomes else None


def _contradiction(critique: Critique) -> str | None:
    """The part of the critic's reply that contradicts its approval, or None."""
    if not critique["unmet"]:
        return None
    criteria = "; ".join(criterion["criterion"] for criterion in critique["unmet"])
    return f"the critic names criteria that are not met: {criteria}"


def _named_runs(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """The ids of the runs that a verdict names, as in `r3`, `run 3`, `3` or `r1, r3`."""
    numbers = [int(number) for name in names for number in _numbers(name)]
    ids = {run["number"]: run["id"] for run in runs}
    return list(dict.fromkeys(ids[number] for number in numbers if number in ids))


def _numbers(name: str) -> Sequence[str]:
    return _ID.findall(name) or (_NUMBER.findall(name) if _ONLY_NUMBERS.fullmatch(name) else ())
