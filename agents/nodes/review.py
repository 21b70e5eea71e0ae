"""The review: a pause for a person's decision, and the words of people about a job.

LangGraph runs a paused node again from its start when it is resumed, so the node `review` has no
effects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.types import interrupt

from agents.checks.reports import report_of
from agents.evidence.verdict import overridden_problem, verification_of
from agents.state import Action, Decision, Run, State, is_paused, text_in

RUNS_SHOWN = 3
"""Runs in full; earlier ones are in the job's events."""


async def review(state: State) -> dict[str, Any]:
    """Pause, then put the decision into the state. An invalid decision raises, and the interrupt
    stays open."""
    decision = interrupt(review_payload(state), response_schema=Decision)
    proven = overridden_problem(state) is None
    return decision_update(decision, proven=proven, revision=state["revision"])


def decision_update(decision: Decision, *, proven: bool, revision: int) -> dict[str, Any]:
    """The update of the state. An approval of work that is not `proven` is an override. If the
    decision says whether it is an override, this counts, because another release may have opened
    the review."""
    action = Action(decision["action"])
    override = action is Action.APPROVE and decision.get("override", not proven)
    update: dict[str, Any] = {
        "decisions": [
            {
                "action": action.value,
                "by": decision["by"],
                "feedback": decision.get("feedback", ""),
                "code": decision.get("code", ""),
                "files": decision.get("files", {}),
                "override": override,
                "comments": decision.get("comments", []),
                "revision": revision,
            }
        ]
    }
    if action is Action.APPROVE:
        update |= {"approved_by": decision["by"], "override": override}
    if action is Action.REVISE:
        update |= {"feedback": {"by": decision["by"], "text": decision.get("feedback", "")}}
    return update


def review_payload(state: State) -> dict[str, Any]:
    """{plan, answer, code, runs, artifacts, critiques, decisions, revision, unproven, verification,
    checks, paused, refused_edit}. `code` is the latest Python program, or empty; `unproven` is the
    problem that an approval would override, or None; `checks` is the report of the acceptance
    checks on this work, or None; `paused`: the work is not finished, and `revise` continues it;
    `refused_edit`: why the files of the latest decision, an edit, were not written, or None."""
    decisions, edits = state.get("decisions", []), state.get("edits", [])
    is_edited = bool(decisions) and decisions[-1]["action"] == Action.EDIT
    runs = state.get("runs", [])
    answers = state.get("answers", [])
    return {
        "plan": state["plan"],
        "answer": answers[-1]["text"] if answers else "",
        "code": next((text_in(run, "code") for run in reversed(runs) if _is_python(run)), ""),
        "runs": runs[-RUNS_SHOWN:],
        "artifacts": list(state["artifacts"].values()),
        "critiques": state.get("critiques", []),
        "decisions": decisions,
        "revision": state["revision"],
        "unproven": overridden_problem(state),
        "verification": verification_of(state),
        "checks": report_of(state),
        "paused": is_paused(state),
        "refused_edit": edits[-1].get("refused") if is_edited and edits else None,
    }


def _is_python(run: Run) -> bool:
    return bool(run.get("tool", "python") == "python")


def has_words(decision: Mapping[str, Any]) -> bool:
    """Whether a decision has more than its action."""
    return any(decision.get(name) for name in ("feedback", "comments"))


def since_last_pass(state: State) -> Sequence[Mapping[str, Any]]:
    """The decisions with words since the executor's last pass, oldest first, without the decision
    that the feedback is taken from."""
    decisions, feedback = state.get("decisions", []), state["feedback"]
    earlier = decisions
    if decisions and feedback is not None and decisions[-1]["action"] == "revise":
        earlier = decisions[:-1]
    current = [decision for decision in earlier if decision.get("revision") == state["revision"]]
    return [decision for decision in current if has_words(decision)]
