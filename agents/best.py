"""The best of a job's revisions: what it hands back where nobody has approved the last one. Pure.

Its answer, files and report of checks are all of one revision, the files and the report as a
person's last edit of it has left them. The order: more of the checks passed; what its runs have
shown of the files that it left; the critic's score; the later one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.counting import counts
from agents.repair.opened import open_failures
from agents.state import ArtifactFields

State = Mapping[str, Any]
Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Best:
    """What is handed back. `revision` is None where there is no answer yet; `earlier`: it is not
    the last one, so the files have to be brought back to `workspace`."""

    revision: int | None
    answer: str
    artifacts: Mapping[str, ArtifactFields]
    workspace: str | None
    checked: Mapping[str, Any] | None
    earlier: bool = False


def best(state: State) -> Best:
    """The approved revision, which is the last; without approval the best one. Checkpoints that do
    not know the files of their earlier revisions hand back those that there are."""
    answers: Sequence[Answer] = state.get("answers", [])
    artifacts, checked = state.get("artifacts", {}), state.get("checked")
    if not answers:
        return Best(None, "", artifacts, state.get("workspace"), checked)
    chosen = answers[-1]
    if state.get("approved_by") is None:
        chosen = max(answers, key=lambda answer: _rank(state, answer))
    text, revision = str(chosen["text"]), int(chosen["revision"])
    left = _left(state, chosen)
    if chosen is answers[-1] or "artifacts" not in left:
        return Best(revision, text, artifacts, state.get("workspace"), checked)
    report = _report(state, revision)
    return Best(revision, text, left["artifacts"], left["workspace"], report, earlier=True)


def _left(state: State, answer: Answer) -> Mapping[str, Any]:
    """What has the files of a revision: its last edit, else its answer."""
    edits: Sequence[Mapping[str, Any]] = state.get("edits", ())
    return next((e for e in reversed(edits) if e["revision"] == answer["revision"]), answer)


def _rank(state: State, answer: Answer) -> tuple[int, int, float, int]:
    revision = answer["revision"]
    report = _report(state, revision)
    tests = report["tests"] if report else ()
    passed = sum(test["outcome"] == "passed" for test in tests) if report else -1
    return passed, _shown(state, answer), _score(state, revision), revision


def _shown(state: State, answer: Answer) -> int:
    """0: no run of the revision's code has succeeded; 1: one has; 2: of the files that it left; 3:
    and no failure was open behind it."""
    runs = [run for run in state.get("runs", ()) if run["revision"] <= answer["revision"]]
    of_it = (run for run in runs if run["revision"] == answer["revision"] and run["succeeded"])
    files = _left(state, answer)
    made = files.get("artifacts", state.get("artifacts", {}))
    brought = state.get("job", {}).get("files", ())
    good = [run for run in of_it if counts(run, made, brought)]
    if not good:
        return 0
    left = files.get("workspace")
    if "workspace" in files and not any(run.get("workspace", left) == left for run in good):
        return 1
    return 2 if open_failures(runs, state.get("repairs", ())) else 3


def _score(state: State, revision: int) -> float:
    scores = [
        critique.get("score")
        for critique in state.get("critiques", ())
        if critique["revision"] == revision
    ]
    return -1.0 if not scores or scores[-1] is None else float(scores[-1])


def _report(state: State, revision: int) -> Mapping[str, Any] | None:
    """The last report on a revision, where it was checked."""
    last = state.get("checked")
    reports: Sequence[Mapping[str, Any]] = [*state.get("reports", ()), *([last] if last else [])]
    return next((each for each in reversed(reports) if each["revision"] == revision), None)
