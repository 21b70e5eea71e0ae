"""What the pass after the parallel branches gets to know of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def join_context(state: Mapping[str, Any]) -> dict[str, Any]:
    """{branches: [{step, text, failed}], conflicts, left_out, rest: [steps not done]};
    `failed` is how the branch's last run failed, or None."""
    done = {each["step"]: each for each in state.get("branches", ())}
    steps = range(1, len(state["plan"]) + 1)
    return {
        "branches": [
            {"step": step, "text": each["text"], "failed": each["failed"]}
            for step, each in sorted(done.items())
        ],
        "conflicts": state.get("conflicts", []),
        "left_out": state.get("left_out", []),
        "rest": [step for step in steps if step not in done],
    }


def unresolved(state: Mapping[str, Any]) -> list[str]:
    """Copies of conflicting files that still exist."""
    there = state.get("artifacts", {})
    copies = (copy for conflict in state.get("conflicts", ()) for copy in conflict["copies"])
    return [copy for copy in copies if copy in there]
