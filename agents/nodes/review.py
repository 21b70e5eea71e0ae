"""The review gate: asks a person, and does nothing else.

A node that pauses runs again from its start when it is resumed, so it must have no effects.
"""

from __future__ import annotations

from typing import Any

from langgraph.types import interrupt

from agents.decision import Action, Decision
from agents.evidence.verdict import unproven
from agents.payload import payload
from agents.state import State


async def review(state: State) -> dict[str, Any]:
    """Pause; then take down the decision. A wrong one raises, and the job stays paused."""
    decision = interrupt(payload(state), response_schema=Decision)
    return taken(decision, proven=unproven(state) is None)


def taken(decision: Decision, *, proven: bool) -> dict[str, Any]:
    """What a decision changes in the state; an approval without a successful run overrides."""
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
            }
        ]
    }
    if action is Action.APPROVE:
        change |= {"approved_by": decision["by"], "override": override}
    if action is Action.REVISE:
        change |= {"feedback": {"by": decision["by"], "text": decision.get("feedback", "")}}
    return change
