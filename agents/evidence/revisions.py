"""Revisions: whether another revision is made and by which model, and which revision is the result.
Pure.

If the last revision is not approved, the best revision is the job's result: its answer, its files
and its report of the checks, with a person's last edit of it. The order: more checks passed; a
better end of the verification; fewer criteria that the critic calls unmet; the later revision.

condition                                           consequence
the revisions are used up                           the job ends
another one would not help: two in a row have the   a stronger model takes over; without a stronger
same result, or repeated themselves, or neither     model the job ends, although revisions are left
the number of criteria that the critic calls unmet
nor that of passed checks is better than two
revisions ago
two repairs by one model were sent back             a stronger model takes over
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.evidence.verdict import run_of, unmet_count
from agents.state import ArtifactFields, Run

PATIENCE = 2
"""Repairs that may fail at one model, and critiques in a row without an improvement."""

State = Mapping[str, Any]
Critiques = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class NextRevision:
    """The decision after a critique that is not an approval.

    `exhausted`: the job ends unapproved, and `ends` is the reason if revisions are left. Otherwise
    `level` is the level of the next model."""

    exhausted: bool
    level: int
    ends: str | None = None


def after_critique(state: State, critiques: Critiques, levels: int) -> NextRevision:
    """The decision after the last of `critiques`, which is not an approval. `levels` is the number
    of models in the executor's chain. The progress of a retry counts after two revisions of it."""
    level = state.get("level", 0)
    if len(critiques) >= state["job"]["max_revisions"]:
        return NextRevision(exhausted=True, level=level)
    critiques_since_retry = critiques[state["job"].get("judged_before", 0) :]
    reason = (
        reason_for_no_progress(state, critiques_since_retry)
        if len(critiques_since_retry) > 1
        else None
    )
    stronger = level + 1 < levels
    if stronger and (reason is not None or has_used_its_repairs(state, critiques)):
        return NextRevision(exhausted=False, level=level + 1)
    return NextRevision(exhausted=reason is not None, level=level, ends=reason)


def reason_for_no_progress(state: State, critiques: Critiques) -> str | None:
    """The reason why another revision by the same model would not help, or None."""
    if _same_twice(state, critiques):
        return "two revisions in a row had the same result"
    if _repeated_itself(state, state["revision"]) and _repeated_itself(
        state, state["revision"] - 1
    ):
        return "two revisions in a row repeated themselves"
    recent = critiques[-PATIENCE - 1 :]
    passed = [(critique.get("checks") or {}).get("passed") for critique in recent]
    unmet = [unmet_count(critique) for critique in recent]
    better = {
        "no more of the checks pass": _grows(passed),
        "no fewer criteria are unmet": _grows([None if n is None else -n for n in unmet]),
    }
    stalled = [text for text, is_better in better.items() if is_better is False]
    if not stalled or any(better.values()):
        return None
    return f"{' and '.join(stalled)} than {PATIENCE} revisions ago"


def _grows(figures: Sequence[int | None]) -> bool | None:
    """Whether one of the last PATIENCE figures is greater than the one before them; None if there
    are too few."""
    figures_known = [figure for figure in figures if figure is not None]
    return max(figures_known[1:]) > figures_known[0] if len(figures_known) > PATIENCE else None


def has_used_its_repairs(state: State, critiques: Critiques) -> bool:
    """Whether the critic sent back PATIENCE repairs of the current model. The job's first revision
    is not a repair."""
    level = state.get("level", 0)
    made_by = {answer["revision"]: answer.get("level", 0) for answer in state.get("answers", [])}
    tried = {
        critique["revision"]
        for critique in critiques
        if critique["revision"] > 1 and made_by.get(critique["revision"]) == level
    }
    return len(tried) >= PATIENCE


def _same_twice(state: State, critiques: Critiques) -> bool:
    """Whether files and output of the runs are unchanged, and the answer or the feedback too."""
    answers = state.get("answers", [])
    if len(answers) < 2 or any("workspace" not in answer for answer in answers[-2:]):
        return False
    before, last = answers[-2], answers[-1]
    if last["revision"] != state["revision"] or before["workspace"] != last["workspace"]:
        return False
    results = [_run_results(state, answer["revision"]) for answer in (before, last)]
    if results[1] and results[0] != results[1]:
        return False
    complaints = [critique["feedback"] for critique in critiques[-2:]]
    return before["text"] == last["text"] or (len(complaints) == 2 and len(set(complaints)) == 1)


def _run_results(state: State, revision: int) -> list[tuple[Any, ...]]:
    """The endings and outputs of the runs of a revision, without their times."""
    return [_run_result(run) for run in state.get("runs", []) if run["revision"] == revision]


def _run_result(run: Run) -> tuple[Any, ...]:
    texts = [(run[name]["text"], run[name]["digest"]) for name in ("code", "stdout", "stderr")]
    return run["end"], run["exit_code"], *texts


def _repeated_itself(state: State, revision: int) -> bool:
    """Whether the pass of a revision was ended for repeating itself, with no stronger model
    left."""
    answers = state.get("answers", [])
    return any(answer["revision"] == revision and answer.get("stopped") for answer in answers)


Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BestRevision:
    """The result. `revision` is None if there is no answer. `earlier`: the result is not the last
    revision, so the files have to be restored to `workspace`."""

    revision: int | None
    answer: str
    artifacts: Mapping[str, ArtifactFields]
    workspace: str | None
    checked: Mapping[str, Any] | None
    verification: Mapping[str, Any] | None = None
    is_earlier: bool = False


def best_revision(state: State) -> BestRevision:
    """The last revision if it is approved, otherwise the best revision."""
    answers: Sequence[Answer] = state.get("answers", [])
    artifacts, checked = state.get("artifacts", {}), state.get("checked")
    if not answers:
        return BestRevision(None, "", artifacts, state.get("workspace"), checked)
    chosen = answers[-1]
    if state.get("approved_by") is None:
        chosen = max(answers, key=lambda answer: _rank(state, answer["revision"]))
    text, revision = str(chosen["text"]), int(chosen["revision"])
    files_record = _files_record(state, chosen)
    if chosen is answers[-1] or "artifacts" not in files_record:
        verification = _verification(state, revision)
        return BestRevision(
            revision, text, artifacts, state.get("workspace"), checked, verification
        )
    report, verification = _report(state, revision), _verification(state, revision)
    return BestRevision(
        revision,
        text,
        files_record["artifacts"],
        files_record["workspace"],
        report,
        verification,
        is_earlier=True,
    )


def _files_record(state: State, answer: Answer) -> Mapping[str, Any]:
    """The record with a revision's files: its last edit, else its answer."""
    edits: Sequence[Mapping[str, Any]] = state.get("edits", ())
    return next(
        (edit for edit in reversed(edits) if edit["revision"] == answer["revision"]), answer
    )


def _rank(state: State, revision: int) -> tuple[int, int, int, int]:
    report = _report(state, revision)
    tests = report["tests"] if report else ()
    passed = sum(test["outcome"] == "passed" for test in tests) if report else -1
    return passed, _verification_rank(state, revision), -_unmet(state, revision), revision


def _verification_rank(state: State, revision: int) -> int:
    """0: the verification failed; 1: it passed, but is not evidence; 2: it is evidence."""
    verification = _verification(state, revision)
    if verification is None:
        return 0
    if verification["holds"]:
        return 2
    run = run_of(verification, state)
    return int(run is not None and run["succeeded"])


def _verification(state: State, revision: int) -> Mapping[str, Any] | None:
    """The last verification of a revision."""
    verifications: Sequence[Mapping[str, Any]] = state.get("verifications", ())
    return next(
        (
            verification
            for verification in reversed(verifications)
            if verification["revision"] == revision
        ),
        None,
    )


def _unmet(state: State, revision: int) -> int:
    """How many criteria the last critique of a revision calls unmet; a critique that names no
    criterion counts as one. A revision without a critique comes after the others."""
    critiques = [
        critique for critique in state.get("critiques", ()) if critique["revision"] == revision
    ]
    return unmet_count(critiques[-1]) or 1 if critiques else sys.maxsize


def _report(state: State, revision: int) -> Mapping[str, Any] | None:
    """The last report on a revision, or None."""
    last = state.get("checked")
    reports: Sequence[Mapping[str, Any]] = [*state.get("reports", ()), *([last] if last else [])]
    return next((report for report in reversed(reports) if report["revision"] == revision), None)
