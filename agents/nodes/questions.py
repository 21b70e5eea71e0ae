"""Questions before the plan: the asker asks up to three, and a pause waits for a person's answers.

LangGraph runs a paused node again from its start when it is resumed, so the node `questions` has no
effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel, Field

from agents.attempt import Ports
from agents.calls.call_key import call_key
from agents.calls.structured_call import ask_role
from agents.ports import Event
from agents.prompts import described, render, task_prompt
from agents.state import Answers, State

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
    questions = (
        [question.model_dump() for question in answer.value.questions] if answer.value else []
    )
    note = "" if answer.value else f"the planner's questions could not be read: {answer.error}"
    data = {"questions": questions, "note": note}
    await runtime.context.events.emit(Event(call_key(runtime.execution_info), "asked", data))
    return {"asked": questions}


async def questions(state: State) -> dict[str, Any]:
    """Pause, then put the answers into the state."""
    open_questions = state["asked"]
    answers = interrupt(
        {"task": state["job"]["task"], "questions": open_questions}, response_schema=Answers
    )
    return {"clarified": with_answers(open_questions, answers), "asked": []}


def with_answers(questions: Sequence[dict[str, str]], answers: Answers) -> list[dict[str, str]]:
    """Each question with its answer; a blank answer is replaced by the default. Pure."""
    texts = [*answers["answers"], *[""] * len(questions)]
    return [
        {
            "question": question["question"],
            "answer": text.strip() or question["default"],
            "by": answers["by"] if text.strip() else "default",
        }
        for question, text in zip(questions, texts, strict=False)
    ]
