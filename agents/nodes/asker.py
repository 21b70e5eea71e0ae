"""The asker: up to three questions about what the task leaves open, each with a default."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agents.attempt import Ports
from agents.calls.call_key import call_key
from agents.calls.structured_call import ask_role
from agents.ports import Event
from agents.prompts import described, render, task_prompt
from agents.state import State

MAX_QUESTIONS = 3


class Question(BaseModel):
    """One question, and its default answer."""

    question: str = Field(min_length=1, description="one question, in one sentence")
    default: str = Field(min_length=1, description="the answer that you would assume")


class Questions(BaseModel):
    """Questions before the work is planned; none if the task is clear."""

    questions: list[Question] = Field(max_length=MAX_QUESTIONS, description="0 to 3 questions")


async def asker(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """Ask the planner's model for questions. An unreadable reply means no questions."""
    request = task_prompt("asker/task", state, runtime.context.repository)
    system = render(
        "asker/system", most=MAX_QUESTIONS, environment=described(runtime.context.environment)
    )
    messages = [SystemMessage(system), request.message()]
    answer = await ask_role(runtime, "planner", messages, Questions)
    asked = [each.model_dump() for each in answer.value.questions] if answer.value else []
    note = "" if answer.value else f"the planner's questions could not be read: {answer.error}"
    data = {"questions": asked, "note": note}
    await runtime.context.events.emit(Event(call_key(runtime.execution_info), "asked", data))
    return {"asked": asked}
