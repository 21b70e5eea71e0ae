"""The verdict: the critic's verdict as far as the verification supports it. Pure.

the current files have no verification that holds -> no approval, whatever the critic says
an acceptance check does not pass                 -> the same
copies of conflicting files exist                 -> the same
a score below LEAST_SCORE, or an unmet criterion  -> no approval: the critic contradicts itself
its reply cannot be read, or it cannot be called  -> no approval, and the job ends
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypedDict

from pydantic import BaseModel, Field

from agents.checks.check_reports import unpassed_checks
from agents.evidence.record import NOT_EXECUTABLE, Verification
from agents.graph.state import Run
from agents.parallel.joined import unresolved

CRITIC: Final = "critic"
RULES: Final = "rules"
"""The author of a critique without a critic."""
UNREADABLE = "the critic's reply could not be read"
AWAY = "the critic's model could not be reached"
REFUSED = "the critic's model refuses the request"
NOT_VERIFIED = "the work was not verified"
LEAST_SCORE = 0.7
"""The lowest score of an approval, from 0 to 1. The prompt `critic/system` says so, too."""

_ID = re.compile(r"\b(?:r|runs?)[\s#:_-]*(\d{1,9})(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"\W*(\d{1,9})\W*")


class Verdict(BaseModel):
    """The verdict on the work."""  # name and text are what models read

    verdict: Literal["approve", "revise"]
    feedback: str = Field("", description="what to fix, concretely; may be empty for approve")
    run: str | None = Field(None, description="the run that it rests on, such as r1")
    runs: list[str] = Field(default_factory=list, description="all runs that the verdict uses")
    score: float | None = Field(
        None, ge=0, le=1, description="how far the task is done, from 0 to 1; 1 is completely"
    )
    failed: list[str] = Field(
        default_factory=list,
        description="what the task asks for and the runs do not show, one line each",
    )


class Critique(TypedDict):
    """A verdict as in events and views. `by` is who decided, `critic` or `rules`. `overruled` says
    why the critic's approval did not count, `ends` why the job ends although revisions are left.
    `checks` counts the job's checks: {passed, total}, or None."""

    revision: int
    verdict: Literal["approve", "revise"]
    feedback: str
    run: str | None
    runs: list[str]
    score: float | None
    failed: list[str]
    overruled: str | None
    by: str
    ends: str | None
    checks: dict[str, int] | None


def verification_of(state: Mapping[str, Any]) -> Verification | None:
    """The verification of the current revision, or None."""
    found: Sequence[Verification] = state.get("verifications", ())
    return found[-1] if found and found[-1]["revision"] == state["revision"] else None


def missing_evidence(state: Mapping[str, Any]) -> str | None:
    """Why the work may not be approved as it is, or None. A person's approval overrides it."""
    if problem := unpassed_checks(state):
        return problem
    if copies := unresolved(state):
        return f"copies of conflicting files are left: {', '.join(copies)}"
    found = verification_of(state)
    return found["problem"] if found else NOT_VERIFIED


def critique_of(state: Mapping[str, Any], said: Verdict | None, why: str = UNREADABLE) -> Critique:
    """The critique of the current revision; `said` is None without a readable reply."""
    if said is None:
        nothing = _as_said(state, Verdict(verdict="revise", feedback=why))
        return {**nothing, "overruled": why, "by": RULES, "ends": why}
    critique = _as_said(state, said)
    if said.verdict == "revise":
        return critique
    objection = _blocker(state) or _contradiction(critique)
    if objection is None:
        found = verification_of(state)
        run = critique["run"] or (found["run"] if found else None)
        return {**critique, "verdict": "approve", "run": run}
    text = f"Not approved: {objection}."
    feedback = "\n\n".join(filter(None, (text, said.feedback)))
    return {**critique, "feedback": feedback, "overruled": objection}


def _blocker(state: Mapping[str, Any]) -> str | None:
    """Why the critic may not approve. If the job asks for no evidence, work that cannot be executed
    may be approved."""
    problem = missing_evidence(state)
    if problem and problem.startswith(NOT_EXECUTABLE) and state["job"].get("evidence") == "none":
        return None
    return problem


def _as_said(state: Mapping[str, Any], said: Verdict) -> Critique:
    runs = state.get("runs", [])
    run = _named(runs, said.run)
    looked_at = (_named(runs, name) for name in said.runs)
    return Critique(
        revision=state["revision"],
        verdict="revise",
        feedback=said.feedback or "; ".join(said.failed),
        run=run["id"] if run else None,
        runs=list(dict.fromkeys(each["id"] for each in looked_at if each)),
        score=said.score,
        failed=said.failed,
        overruled=None,
        by=CRITIC,
        ends=None,
        checks=_checks(state),
    )


def _checks(state: Mapping[str, Any]) -> dict[str, int] | None:
    """{passed, total} of the revision's checks."""
    report: Mapping[str, Any] = state.get("checked") or {}
    if report.get("revision") != state["revision"]:
        return None
    outcomes = [test["outcome"] for test in report.get("tests", ())]
    return {"passed": outcomes.count("passed"), "total": len(outcomes)} if outcomes else None


def _contradiction(critique: Critique) -> str | None:
    """What in the critic's own reply contradicts its approval."""
    if failed := critique["failed"]:
        return f"the critic names criteria that are not met: {'; '.join(failed)}"
    score = critique["score"]
    if score is not None and score < LEAST_SCORE:
        return f"the critic's score of {score:g} is below {LEAST_SCORE:g}"
    return None


def _named(runs: Sequence[Run], name: str | None) -> Run | None:
    """The run that a verdict names as `r3`, `run 3` or `3`, or None."""
    found = _ID.search(name or "") or _NUMBER.fullmatch(name or "")
    wanted = int(found[1]) if found else None
    return next((run for run in runs if run["number"] == wanted), None)
