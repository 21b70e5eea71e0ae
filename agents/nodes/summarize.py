"""The summary: what the conversation keeps of a job. No model is asked."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agents.evidence import best_answer
from agents.judgement import CRITIC, RULES
from agents.outcome import why_it_ended
from agents.place import place
from agents.ports import Fact, Ports
from agents.state import State
from agents.texts import one_line

ANSWER_KEPT = 600
_APPROVERS = {CRITIC: "the critic", RULES: "the rules alone, on the evidence"}
FILES_NAMED = 12


async def summarize(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """Sum the job up in one paragraph."""
    text = summary(state)
    fact = Fact(place(runtime.execution_info), "summarized", {"text": text})
    await runtime.context.events.emit(fact)
    return {"summary": text}


def summary(state: State) -> str:
    """One paragraph: the answer, the files, who approved. Pure."""
    parts = [one_line(best_answer(state), ANSWER_KEPT) or "No answer."]
    if names := list(state["artifacts"]):
        more = f" and {len(names) - FILES_NAMED} more" if len(names) > FILES_NAMED else ""
        parts.append(f"Files: {', '.join(names[:FILES_NAMED])}{more}.")
    parts.append(_approval(state))
    return " ".join(parts)


def _approval(state: State) -> str:
    by = state["approved_by"]
    if by is None:
        rest = (
            "this is the best result so far"
            if state["job"]["on_exhausted"] == "accept"
            else "the job counts as failed"
        )
        why = why_it_ended(state) or "the revisions ran out"
        return f"Not approved: {why}, and {rest}."
    return f"Approved by {_APPROVERS.get(by, by)}."
