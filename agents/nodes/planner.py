"""The planner: from a task to 3 to 5 steps."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agents.asking import ask_for
from agents.place import place
from agents.ports import Fact, Ports
from agents.prompting import render
from agents.state import State

DEFAULT_PLAN = (
    "Write the code that the task asks for, into a file of its own.",
    "Run it on real input and on the edge cases that matter, and check what comes out.",
    "Mend what fails, and run it again until every check passes.",
)
"""What is done where the model gives no usable plan: it is right for every task."""


class Plan(BaseModel):
    """The steps to take, in order."""

    steps: list[str] = Field(
        min_length=3, max_length=5, description="3 to 5 steps, each one sentence"
    )


async def planner(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """The caller's own steps, else the model's, else the default plan."""
    job = state["job"]
    note = ""
    if job["steps"]:
        steps, source = list(job["steps"]), "caller"
    elif not runtime.context.bounds.plans:
        steps, source = list(DEFAULT_PLAN), "default"
    else:
        request = render(
            "planner_task",
            task=job["task"],
            earlier=job["earlier"],
            files=job["files"],
            clarified=state.get("clarified", []),
        )
        ports = runtime.context
        system = render(
            "planner_system", install=ports.packages is not None, fetch=ports.pages is not None
        )
        messages = [SystemMessage(system), HumanMessage(request)]
        answer = await ask_for(runtime, "planner", messages, Plan)
        if answer.value is not None:
            steps, source = answer.value.steps, "model"
        else:
            steps, source = list(DEFAULT_PLAN), "default"
            note = f"the planner's reply could not be read: {answer.error}"
    data = {"steps": steps, "source": source, "note": note}
    await runtime.context.events.emit(Fact(place(runtime.execution_info), "planned", data))
    return {"plan": steps}
