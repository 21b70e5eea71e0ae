"""The review gate: pauses for a person's decision, and does nothing else.

LangGraph runs a paused node again from its start when it is resumed, so it must have no effects.
"""

from __future__ import annotations

from typing import Any

from langgraph.types import interrupt

from agents.checks.check_reports import report_of
from agents.evidence.verdict import overridden, verification_of
from agents.state import Action, Decision, Run, State, is_paused, text_in

RUNS_SHOWN = 3
"""Runs in full; earlier ones are in the job's events."""


async def review(state: State) -> dict[str, Any]:
    """Pause, then put the decision into the state. An invalid one raises; the job stays paused."""
    decision = interrupt(review_payload(state), response_schema=Decision)
    proven = overridden(state) is None
    return decision_update(decision, proven=proven, revision=state["revision"])


def decision_update(decision: Decision, *, proven: bool, revision: int) -> dict[str, Any]:
    """The update of the state. An approval of work that is not `proven` is an override."""
    action = Action(decision["action"])
    override = action is Action.APPROVE and not proven
    change: dict[str, Any] = {
        "decisions": [
            {
                "action": action.value,
                "by": decision["by"],
                "feedback": decision.get("feedback", ""),
                "code": decision.get("code", ""),
                "override": override,
                "comments": decision.get("comments", []),
                "revision": revision,
            }
        ]
    }
    if action is Action.APPROVE:
        change |= {"approved_by": decision["by"], "override": override}
    if action is Action.REVISE:
        change |= {"feedback": {"by": decision["by"], "text": decision.get("feedback", "")}}
    return change


def review_payload(state: State) -> dict[str, Any]:
    """{plan, answer, code, runs, artifacts, critiques, decisions, revision, unproven, verification,
    checks, paused}; `code` is that of the latest Python program, empty where none was run;
    `unproven` is what an approval would override, or None; `checks` their report on this work, or
    None; `paused`: the work is not finished, and `revise` lets it go on."""
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
        "unproven": overridden(state),
        "verification": verification_of(state),
        "checks": report_of(state),
        "paused": is_paused(state),
    }


def _is_python(run: Run) -> bool:
    return bool(run.get("tool", "python") == "python")
