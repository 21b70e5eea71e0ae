"""The summary of the job for later jobs of the conversation."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import SystemMessage, ToolMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agents.attempt import Ports
from agents.calls.call_key import call_key, digest
from agents.calls.journal import finished_call, journaled
from agents.calls.structured_call import ask_role
from agents.errors import BudgetExhausted, ModelNotConfigured, ModelRefused, ModelUnavailable
from agents.evidence.revisions import BestRevision, best_revision
from agents.evidence.verdict import CRITIC
from agents.ports import Event, Finished
from agents.prompts import prompt, render
from agents.state import State, why_it_ended
from agents.texts import head_and_tail, one_line

_APPROVERS = {CRITIC: "the critic"}
FILES_NAMED = 12
ANSWER_KEPT = 600
"""Characters of the answer in a summary."""
_ANSWER_SENT = 12_000
_AWAY = (ModelUnavailable, ModelRefused, ModelNotConfigured, BudgetExhausted)


async def summarize(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """Summarize the job in one paragraph, and restore the files of its best revision."""
    best = best_revision(state)
    if best.is_earlier:
        await _restore_files(best, runtime)
    answer = await short_answer(state["job"]["task"], best.answer, runtime)
    text = summary_text(state, answer)
    event = Event(call_key(runtime.execution_info), "summarized", {"text": text})
    await runtime.context.events.emit(event)
    if not best.is_earlier:
        return {"summary": text}
    files = {"artifacts": dict(best.artifacts), "workspace": best.workspace}
    return {"summary": text, "checked": best.checked, **files}


async def _restore_files(best: BestRevision, runtime: Runtime[Ports]) -> None:
    """Journaled like a tool call. The next job of the conversation starts with these files."""
    ports = runtime.context

    async def make() -> tuple[ToolMessage, Finished]:
        await ports.workspace.checkout(best.workspace)
        message = ToolMessage("", tool_call_id="best")
        return message, finished_call(message, workspace=ports.workspace.digest)

    at = call_key(runtime.execution_info)
    await journaled(ports, at.key(digest("best", best.revision, best.workspace)), make)


def summary_text(state: State, answer: str) -> str:
    """One paragraph: the `answer` in short, the files, who approved. Pure."""
    best = best_revision(state)
    parts = [answer or "No answer."]
    if names := list(best.artifacts):
        more = f" and {len(names) - FILES_NAMED} more" if len(names) > FILES_NAMED else ""
        parts.append(f"Files: {', '.join(names[:FILES_NAMED])}{more}.")
    parts.append(_approval(state))
    return " ".join(parts)


def _approval(state: State) -> str:
    by = state["approved_by"]
    if by is None:
        consequence = (
            "this is the best result so far"
            if state["job"]["on_exhausted"] == "accept"
            else "the job counts as failed"
        )
        reason = why_it_ended(state) or "the revisions ran out"
        return f"Not approved: {reason}, and {consequence}."
    return f"Approved by {_APPROVERS.get(by, by)}."


class Summary(BaseModel):
    """The summary of a job."""

    text: str = Field(description="one to three sentences: what was made, and what the runs showed")


async def short_answer(task: str, answer: str, runtime: Runtime[Ports]) -> str:
    """The answer in at most `ANSWER_KEPT` characters, on one line.

    A short answer is not changed. A longer answer is summarized by the role `summary` if the
    operator names a model for it, and is cut otherwise. An error of that model or an exhausted
    budget does not change the job's result."""
    one_line_answer = one_line(answer, len(answer))
    if len(one_line_answer) <= ANSWER_KEPT or not runtime.context.bounds.summarize_with_model:
        return one_line(one_line_answer, ANSWER_KEPT)
    request = prompt("summary/task", task=task, answer=head_and_tail(answer, _ANSWER_SENT))
    messages = [SystemMessage(render("summary/system")), request.message()]
    try:
        summary = (await ask_role(runtime, "summary", messages, Summary)).value
    except _AWAY:
        summary = None
    return one_line(summary.text if summary is not None else answer, ANSWER_KEPT)
