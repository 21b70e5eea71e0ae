"""Judgement: the critic's word as far as the evidence bears it. Pure.

no run of the files as they stand has succeeded            -> no approval, whatever it says: one
                                                              that only looked around is none
a failed run is not mended, or all that ended well have    -> no approval by the rules alone
printed a traceback
the run that it rests on failed, or only looked around     -> no approval
a score below LEAST_SCORE, or a criterion that failed      -> no approval
its reply cannot be read, or its model refuses to be asked -> the rules decide, and say so
its model is away, in the job's last try                   -> the same
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NotRequired, TypedDict

from agents.evidence import (
    CHANGED,
    NO_END,
    NO_RUN,
    NO_SUCCESS,
    ONLY_LOOKED,
    UNRESOLVED,
    is_evidence,
    is_final,
    runs_that_count,
    unproven,
    unseen,
)
from agents.repair.opened import open_failures
from agents.repair.subject import only_looked
from agents.repair.tracebacks import decisive, tracebacks
from agents.state import Run, text_in
from agents.texts import one_line

CRITIC: Final = "critic"
RULES: Final = "rules"
"""Who has approved where no critic could be asked or read."""
UNREADABLE = "the critic's reply could not be read, so the rules decided"
AWAY = "the critic's model could not be reached, so the rules decided"
REFUSED = "the critic's model refuses to be asked, so the rules decided"
LEAST_SCORE = 0.7
"""Of an approval, from 0 to 1: `critic_system` tells the critic so."""
CAUSE_SHOWN = 200
"""Characters of an exception that a critique names."""
_RUN_IT = (
    "Run the code that is in the files: import it in the python tool, or start it in the shell, and"
    " show that it does what the task asks. A look with shell tools (`cat`, `ls`, `awk`, `jq`) does"
    " not count, nor does a command line that hides how it ended (`|| true`, `set +e`); where there"
    " is no program, read what you made with the python tool, and check it there."
)
_RUN_IT_ALONE = (
    "Run the code that is in the files by its name, alone and as the last command, so that the run"
    " ends as the code does: without `|| ...`, `if`, `!`, `set +e`, `&` or `echo $(...)` around it,"
    " and with no change of the code behind it. Where it must refuse something, check that in the"
    " python tool. A program that names none of the files does not count."
)

_ID = re.compile(r"\b(?:r|runs?)[\s#:_-]*(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"\W*(\d+)\W*")


class Said(TypedDict):
    """What the critic itself said. `score` is from 0 to 1, `failed` are criteria that are not met;
    `runs` are those that it looked at, `run` is the one that it rests on."""

    verdict: Literal["approve", "revise"]
    feedback: str
    run: str | None
    runs: NotRequired[Sequence[str]]
    score: NotRequired[float | None]
    failed: NotRequired[Sequence[str]]


class Critique(TypedDict):
    """A judgement as it is kept and told. `by` is who decided, `critic` or `rules`; `overruled`
    says why the critic's word did not count; `ends` why the job ends although revisions are left;
    `checks` is how many of the job's checks passed and how many there are, where it has any.
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


def judged(state: Mapping[str, Any], said: Said | None, why: str = UNREADABLE) -> Critique:
    """The critique of the revision at hand; `said` is None where the critic was not heard."""
    if said is None:
        return _by_rules(state, why)
    critique = _as_said(state, said)
    if said["verdict"] == "revise":
        return critique
    named = _named(state.get("runs", []), said["run"])
    lack = unproven(state) or _objection(state, critique, named)
    if lack is not None:
        return {**critique, **_sent_back(lack, said["feedback"]), "overruled": lack}
    return {**critique, "verdict": "approve", "run": critique["run"] or _latest_success(state)}


def _as_said(state: Mapping[str, Any], said: Said) -> Critique:
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


def _by_rules(state: Mapping[str, Any], why: str) -> Critique:
    """Approved is what a run shows to work, as it stands, while no failure is open."""
    nothing = Said(verdict="revise", feedback="", run=None)
    critique = Critique(**{**_as_said(state, nothing), "overruled": why, "by": RULES})
    lack = unproven(state) or _unseen(state) or _unmended(state) or _unsure(state)
    if lack is not None:
        return {**critique, **_sent_back(lack, "")}
    return {**critique, "verdict": "approve", "run": _latest_success(state)}


def _unseen(state: Mapping[str, Any]) -> str | None:
    """A look at documents shows something to who can read them."""
    seen = any(is_evidence(run, state) for run in runs_that_count(state))
    return None if seen else unseen(state)


def _unmended(state: Mapping[str, Any]) -> str | None:
    opened = open_failures(state.get("runs", []), state.get("repairs", []))
    return f"{opened[-1]['id']} failed, and no run shows that it is mended" if opened else None


def _unsure(state: Mapping[str, Any]) -> str | None:
    """A program that has caught an exception, and printed its traceback, may be meant to: the rules
    cannot tell. One run over the same files that prints none is enough."""
    good = [run for run in runs_that_count(state) if run["succeeded"] and is_final(run, state)]
    printed = [_printed(run) for run in good]
    if not good or not all(printed):
        return None
    return f"{good[-1]['id']} printed the traceback of {printed[-1]}"


def _printed(run: Run) -> str | None:
    """The exception whose traceback a run has printed, or None."""
    texts = (text_in(run, stream) for stream in ("stderr", "stdout"))
    raised = next(filter(None, (decisive(tracebacks(text)) for text in texts)), None)
    return one_line(raised.line, CAUSE_SHOWN) if raised else None


def _objection(state: Mapping[str, Any], critique: Critique, named: Run | None) -> str | None:
    """What the critic's own words have against its approval."""
    if failed := critique["failed"]:
        return f"the critic names criteria that are not met: {'; '.join(failed)}"
    score = critique["score"]
    if score is not None and score < LEAST_SCORE:
        return f"the critic's score of {score:g} is below {LEAST_SCORE:g}"
    return _shows_nothing(state, named)


def _shows_nothing(state: Mapping[str, Any], run: Run | None) -> str | None:
    """Of the run that it names: that a run of the code has succeeded is known by then, and it may
    well rest on a later one that has read what came out."""
    if run is None or (
        run["succeeded"] and (not only_looked(run) or run in runs_that_count(state))
    ):
        return None
    did = "only looked around" if run["succeeded"] else "did not succeed"
    return f"run {run['id']}, on which the approval would rest, {did}"


def _sent_back(lack: str, feedback: str) -> Any:
    asked = {
        NO_RUN: _RUN_IT,
        ONLY_LOOKED: _RUN_IT,
        NO_END: _RUN_IT_ALONE,
        NO_SUCCESS: "Mend the code, and run it until it ends with exit code 0.",
        CHANGED: "Run the code as it is now, and show that it works.",
    }
    default = "Run it again and show that it works."
    if lack.startswith(UNRESOLVED):
        default = "Bring each together with the file beside it, delete the copy, and run it again."
    words = f"Not approved: {lack}. {asked.get(lack, default)}"
    return {"verdict": "revise", "feedback": "\n\n".join(filter(None, (words, feedback)))}


def _named(runs: Sequence[Run], name: str | None) -> Run | None:
    """The run that a verdict names as `r3`, `run 3` or `3`; None where there is no such run."""
    found = _ID.search(name or "") or _NUMBER.fullmatch(name or "")
    wanted = int(found[1]) if found else None
    return next((run for run in runs if run["number"] == wanted), None)


def _latest_success(state: Mapping[str, Any]) -> str | None:
    counting = runs_that_count(state)
    return next((run["id"] for run in reversed(counting) if run["succeeded"]), None)
