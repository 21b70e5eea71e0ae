"""The verdict: the critic's judgement as far as the verification supports it. Pure.

the files as they are have no verification that holds -> no approval, whatever the critic says
an acceptance check does not pass                     -> the same
copies of conflicting files are left                  -> the same
a score below LEAST_SCORE, or a criterion not met     -> no approval: the critic contradicts itself
its reply cannot be read, or it cannot be asked       -> no approval, and the job ends
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NotRequired, TypedDict

from agents.checks.check_reports import unpassed_checks
from agents.evidence.record import NOT_EXECUTABLE, Verification
from agents.graph.state import Run
from agents.parallel.joined import unresolved

CRITIC: Final = "critic"
RULES: Final = "rules"
"""Who has sent the work back where no critic could be asked or read."""
UNREADABLE = "the critic's reply could not be read"
AWAY = "the critic's model could not be reached"
REFUSED = "the critic's model refuses to be asked"
NOT_VERIFIED = "the work was not verified"
LEAST_SCORE = 0.7
"""Of an approval, from 0 to 1: `critic_system` tells the critic so."""

_ID = re.compile(r"\b(?:r|runs?)[\s#:_-]*(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"\W*(\d+)\W*")


class CriticReply(TypedDict):
    """What the critic itself said. `score` is from 0 to 1, `failed` are criteria that are not met;
    `runs` are those that it looked at, `run` is the one that it rests on."""

    verdict: Literal["approve", "revise"]
    feedback: str
    run: str | None
    runs: NotRequired[Sequence[str]]
    score: NotRequired[float | None]
    failed: NotRequired[Sequence[str]]


class Critique(TypedDict):
    """A judgement as events and views have it. `by` is who decided, `critic` or `rules`;
    `overruled` says why the critic's word did not count; `ends` why the job ends although revisions
    are left; `checks` is how many of the job's checks passed and how many there are, where it has
    any.
    """

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
    """The verification of the revision at hand, or None where there is none yet."""
    found: Sequence[Verification] = state.get("verifications", ())
    return found[-1] if found and found[-1]["revision"] == state["revision"] else None


def missing_evidence(state: Mapping[str, Any]) -> str | None:
    """Why the work may not be approved as it is, or None. A person who approves all the same
    overrides it."""
    if problem := unpassed_checks(state):
        return problem
    if copies := unresolved(state):
        return f"copies of conflicting files are left: {', '.join(copies)}"
    found = verification_of(state)
    return found["problem"] if found else NOT_VERIFIED


def critique_of(
    state: Mapping[str, Any], said: CriticReply | None, why: str = UNREADABLE
) -> Critique:
    """The critique of the revision at hand; `said` is None where the critic was not heard."""
    if said is None:
        nothing = _as_said(state, CriticReply(verdict="revise", feedback=why, run=None))
        return {**nothing, "overruled": why, "by": RULES, "ends": why}
    critique = _as_said(state, said)
    if said["verdict"] == "revise":
        return critique
    objection = _blocker(state) or _contradiction(critique)
    if objection is None:
        found = verification_of(state)
        run = critique["run"] or (found["run"] if found else None)
        return {**critique, "verdict": "approve", "run": run}
    text = f"Not approved: {objection}."
    feedback = "\n\n".join(filter(None, (text, said["feedback"])))
    return {**critique, "feedback": feedback, "overruled": objection}


def _blocker(state: Mapping[str, Any]) -> str | None:
    """What stands in the way of the critic's approval: where the job asks for no evidence, it is
    enough that nothing could be executed."""
    problem = missing_evidence(state)
    if problem and problem.startswith(NOT_EXECUTABLE) and state["job"].get("evidence") == "none":
        return None
    return problem


def _as_said(state: Mapping[str, Any], said: CriticReply) -> Critique:
    runs = state.get("runs", [])
    run = _named(runs, said["run"])
    looked_at = (_named(runs, name) for name in said.get("runs", ()))
    return Critique(
        revision=state["revision"],
        verdict="revise",
        feedback=said["feedback"] or "; ".join(said.get("failed", ())),
        run=run["id"] if run else None,
        runs=list(dict.fromkeys(each["id"] for each in looked_at if each)),
        score=said.get("score"),
        failed=list(said.get("failed", ())),
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
    """What the critic's own words have against its approval."""
    if failed := critique["failed"]:
        return f"the critic names criteria that are not met: {'; '.join(failed)}"
    score = critique["score"]
    if score is not None and score < LEAST_SCORE:
        return f"the critic's score of {score:g} is below {LEAST_SCORE:g}"
    return None


def _named(runs: Sequence[Run], name: str | None) -> Run | None:
    """The run that a verdict names as `r3`, `run 3` or `3`; None where there is no such run."""
    found = _ID.search(name or "") or _NUMBER.fullmatch(name or "")
    wanted = int(found[1]) if found else None
    return next((run for run in runs if run["number"] == wanted), None)
