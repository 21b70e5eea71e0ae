"""What a person sees at a review. Pure."""

from __future__ import annotations

from typing import Any

from agents.checks.carried import report_of
from agents.evidence.verdict import unproven, verification_of
from agents.state import Run, State, text_in

RUNS_SHOWN = 3
"""Runs in full; earlier ones are in the job's events."""


def payload(state: State) -> dict[str, Any]:
    """{plan, answer, code, runs, artifacts, critiques, decisions, revision, unproven, verification,
    checks}; `code` is that of the latest Python program, empty where none was run; `unproven` is
    what an approval would override, or None; `checks` their report on this work, or None."""
    runs = state.get("runs", [])
    answers = state.get("answers", [])
    return {
        "plan": state["plan"],
        "answer": answers[-1]["text"] if answers else "",
        "code": next((text_in(run, "code") for run in reversed(runs) if _is_python(run)), ""),
        "runs": runs[-RUNS_SHOWN:],
        "artifacts": list(state["artifacts"].values()),
        "critiques": state.get("critiques", []),
        "decisions": state.get("decisions", []),
        "revision": state["revision"],
        "unproven": unproven(state),
        "verification": verification_of(state),
        "checks": report_of(state),
    }


def _is_python(run: Run) -> bool:
    return bool(run.get("tool", "python") == "python")
