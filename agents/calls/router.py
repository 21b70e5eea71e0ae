"""The router: a model judges how difficult a task is, which chooses the job's models.

It is called once, before the graph starts, and its decision is recorded before any other call. If
it cannot be called or read, the difficulty is medium.

See ADR 45.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from agents.attempt import Ports
from agents.calls.model_call import ModelCall, model_call
from agents.context.overflow import Messages
from agents.errors import ModelError
from agents.models.replies.structured import ask, read
from agents.ports import CallKey, Event, Role
from agents.prompts import render

AUTO: Final = "auto"
"""The model name by which a job leaves the choice to the router."""
ROUTER: Final[Role] = "router"
REASON_CHARACTERS = 200
_AT = CallKey("", "router", 0)
"""The position of the call, which is outside of the graph's nodes. It is equal in all attempts."""


class Difficulty(StrEnum):
    """How difficult a task is."""

    SIMPLE = "simple"
    MEDIUM = "medium"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class Routes:
    """The operator's settings: models by difficulty (`provider:model`, the first answers), and
    whether a simple task gets a plan of its own."""

    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plans_simple: bool = True


class Judged(BaseModel):
    """How difficult the task is."""

    difficulty: Literal["simple", "medium", "hard"]
    reason: str = Field("", description="why, in one short sentence")


@dataclass(frozen=True, slots=True)
class RoutingDecision:
    """The decision, by the model or by default."""

    difficulty: Difficulty
    reason: str
    by: Literal["model", "default"]


async def route(
    ports: Ports, routes: Routes, task: str, files: int, executor_model: str | None = None
) -> Difficulty:
    """Decide the difficulty of a task, and emit the event `routed`.

    `files` is the number of files of the task. `executor_model` is the executor's model if the
    settings name a model: then the difficulty does not change the executor's model. Raises
    BudgetExhausted and Stopped.
    """
    decided = await _decide(ports, task, files)
    chain = routes.models.get(decided.difficulty, ())
    fields: dict[str, Any] = {
        "difficulty": str(decided.difficulty),
        "model": executor_model or (chain[0] if chain else None),
        "reason": decided.reason,
        "by": decided.by,
    }
    await ports.events.emit(Event(_AT, "routed", fields))
    return decided.difficulty


async def _decide(ports: Ports, task: str, files: int) -> RoutingDecision:
    request = render("router/task", task=task, files=files)
    messages = [SystemMessage(render("router/system")), HumanMessage(request)]

    async def send(model: BaseChatModel, messages: Messages) -> AIMessage:
        return (await ask(model, messages, Judged)).message

    try:
        call = ModelCall(ROUTER, _AT, messages, (Judged.__name__,))
        message = await model_call(ports, call, send)
    except ModelError as error:
        return RoutingDecision(Difficulty.MEDIUM, f"the router did not answer: {error}", "default")
    answer = read(message, Judged)
    if answer.value is None:
        reason = f"the router's reply could not be read: {answer.error}"
        return RoutingDecision(Difficulty.MEDIUM, reason, "default")
    reason = answer.value.reason[:REASON_CHARACTERS]
    return RoutingDecision(Difficulty(answer.value.difficulty), reason, "model")
