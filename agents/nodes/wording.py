"""The summary of a long answer, in the words of a model of its own, where an operator names one."""

from __future__ import annotations

from langchain_core.messages import SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agents.asking import ask_for
from agents.errors import BudgetExhausted
from agents.models import ModelNotConfigured, ModelRefused, ModelUnavailable
from agents.ports import Ports
from agents.prompting import prompt, render
from agents.texts import head_and_tail, one_line

ANSWER_KEPT = 600
"""Characters of an answer that a summary has."""
_ANSWER_SENT = 12_000
_AWAY = (ModelUnavailable, ModelRefused, ModelNotConfigured, BudgetExhausted)


class Summary(BaseModel):
    """What was done."""

    text: str = Field(description="one to three sentences: what was made, and what it showed")


async def worded(task: str, answer: str, runtime: Runtime[Ports]) -> str:
    """The answer in at most `ANSWER_KEPT` characters, on one line.

    One that fits stays as it is. A longer one is summed up by the role `summary` where a model is
    named for it, and else cut. The job is done by then: no trouble with that model, and no budget
    that is used up, changes its end.
    """
    whole = one_line(answer, len(answer))
    if len(whole) <= ANSWER_KEPT or not runtime.context.bounds.sums_up:
        return one_line(whole, ANSWER_KEPT)
    request = prompt("summary_task", task=task, answer=head_and_tail(answer, _ANSWER_SENT))
    messages = [SystemMessage(render("summary_system")), request.message()]
    try:
        said = (await ask_for(runtime, "summary", messages, Summary)).value
    except _AWAY:
        said = None
    return one_line(said.text if said is not None else answer, ANSWER_KEPT)
