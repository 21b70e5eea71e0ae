"""The best of a job's revisions: the job's result if the last one is not approved. Pure.

Answer, files and report of checks are all of one revision; files and report include a person's last
edit of it. The order: more checks passed; a better end of the verification; fewer criteria
that the critic calls unmet; the later one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.evidence.verdict import unmet_count
from agents.state import ArtifactFields

State = Mapping[str, Any]
Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BestRevision:
    """The result. `revision` is None without an answer. `earlier`: it is not the last revision, so
    the files have to be restored to `workspace`."""

    revision: int | None
    answer: str
    artifacts: Mapping[str, ArtifactFields]
    workspace: str | None
    checked: Mapping[str, Any] | None
    verification: Mapping[str, Any] | None = None
    earlier: bool = False


def best_revision(state: State) -> BestRevision:
    """The approved revision, which is the last; without an approval the best one."""
    answers: Sequence[Answer] = state.get("answers", [])
    artifacts, checked = state.get("artifacts", {}), state.get("checked")
    if not answers:
        return BestRevision(None, "", artifacts, state.get("workspace"), checked)
    chosen = answers[-1]
    if state.get("approved_by") is None:
        chosen = max(answers, key=lambda answer: _rank(state, answer["revision"]))
    text, revision = str(chosen["text"]), int(chosen["revision"])
    left = _left(state, chosen)
    if chosen is answers[-1] or "artifacts" not in left:
        found = _verification(state, revision)
        return BestRevision(revision, text, artifacts, state.get("workspace"), checked, found)
    report, found = _report(state, revision), _verification(state, revision)
    return BestRevision(
        revision, text, left["artifacts"], left["workspace"], report, found, earlier=True
    )


def _left(state: State, answer: Answer) -> Mapping[str, Any]:
    """The record with a revision's files: its last edit, else its answer."""
    edits: Sequence[Mapping[str, Any]] = state.get("edits", ())
    return next((e for e in reversed(edits) if e["revision"] == answer["revision"]), answer)


def _rank(state: State, revision: int) -> tuple[int, int, int, int]:
    report = _report(state, revision)
    tests = report["tests"] if report else ()
    passed = sum(test["outcome"] == "passed" for test in tests) if report else -1
    return passed, _verified(state, revision), -_unmet(state, revision), revision


def _verified(state: State, revision: int) -> int:
    """0: its verification failed; 1: it passed and is no evidence; 2: it is evidence."""
    found = _verification(state, revision)
    if found is None:
        return 0
    if found["holds"]:
        return 2
    run = next((run for run in state.get("runs", ()) if run["id"] == found["run"]), None)
    return int(run is not None and run["succeeded"])


def _verification(state: State, revision: int) -> Mapping[str, Any] | None:
    """The last verification of a revision."""
    found: Sequence[Mapping[str, Any]] = state.get("verifications", ())
    return next((each for each in reversed(found) if each["revision"] == revision), None)


def _unmet(state: State, revision: int) -> int:
    """How many criteria the last critique of a revision calls unmet; a critique that names none
    counts as one. A revision without a critique comes after the others."""
    critiques = [each for each in state.get("critiques", ()) if each["revision"] == revision]
    return unmet_count(critiques[-1]) or 1 if critiques else sys.maxsize


def _report(state: State, revision: int) -> Mapping[str, Any] | None:
    """The last report on a revision, or None."""
    last = state.get("checked")
    reports: Sequence[Mapping[str, Any]] = [*state.get("reports", ()), *([last] if last else [])]
    return next((each for each in reversed(reports) if each["revision"] == revision), None)
