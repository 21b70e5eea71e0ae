"""The questions: pauses for a person's answers, and does nothing else (as `nodes.review`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.types import interrupt

from agents.state import Answers, State


async def questions(state: State) -> dict[str, Any]:
    """Pause, then put the answers into the state."""
    asked = state["asked"]
    answered = interrupt(
        {"task": state["job"]["task"], "questions": asked}, response_schema=Answers
    )
    return {"clarified": clarified(asked, answered), "asked": []}


def clarified(asked: Sequence[dict[str, str]], answered: Answers) -> list[dict[str, str]]:
    """Each question with its answer; a blank one gets the default. Pure."""
    given = [*answered["answers"], *[""] * len(asked)]
    return [
        {
            "question": each["question"],
            "answer": said.strip() or each["default"],
            "by": answered["by"] if said.strip() else "default",
        }
        for each, said in zip(asked, given, strict=False)
    ]
