"""The router: chooses by how difficult a task is. A model is asked only where the signals disagree.

It works before the graph begins: a decision is made once, and is on record before any other call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from agents.calls import model_call
from agents.context import Messages
from agents.difficulty import Difficulty, Looks, Thresholds, looks
from agents.models import ModelError, Role, ask, read
from agents.ports import Fact, Place, Ports
from agents.prompting import render

AUTO: Final = "auto"
"""What a job names as its model that leaves the choice to the router."""
ROUTER: Final[Role] = "router"
REASON_CHARACTERS = 200
_AT = Place("", "router", 0)
"""No node of the graph: it is the same in every attempt."""


@dataclass(frozen=True, slots=True)
class Routes:
    """What an operator has set: models by difficulty (`provider:model`, the first answers), from
    which score on, and whether a simple task does without a plan of its own."""

    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    thresholds: Thresholds = field(default_factory=Thresholds)
    plans_simple: bool = True


class Judged(BaseModel):
    """How difficult the task is."""

    difficulty: Literal["simple", "medium", "hard"]
    reason: str = Field("", description="why, in one short sentence")


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision; `by` is signals or model."""

    difficulty: Difficulty
    reason: str
    by: Literal["signals", "model"]


async def route(
    ports: Ports, routes: Routes, task: str, steps: int, files: int, own: str | None = None
) -> Difficulty:
    """Decide, and say so: the event `routed`. Raises BudgetExhausted, Stopped.

    `own` is the executor's model where the settings name one for it: no difficulty changes that.
    """
    seen = looks(task, steps=steps, files=files)
    verdict = seen.verdict(routes.thresholds)
    if verdict is not None:
        decided = Decided(verdict, str(seen), "signals")
    else:
        decided = await _asked(ports, seen, task, files)
    await ports.events.emit(Fact(_AT, "routed", _told(decided, routes, own)))
    return decided.difficulty


async def _asked(ports: Ports, seen: Looks, task: str, files: int) -> Decided:
    """The model's word; without one, the middle."""
    request = render("router_task", task=task, files=files)
    messages = [SystemMessage(render("router_system")), HumanMessage(request)]

    async def call(model: BaseChatModel, given: Messages) -> AIMessage:
        return (await ask(model, given, Judged)).message

    try:
        message = await model_call(ports, ROUTER, _AT, messages, call, offered=(Judged.__name__,))
    except ModelError as error:
        return Decided(Difficulty.MEDIUM, f"{seen}; the router did not answer: {error}", "signals")
    answer = read(message, Judged)
    if answer.value is None:
        said = f"{seen}; the router's reply could not be read: {answer.error}"
        return Decided(Difficulty.MEDIUM, said, "signals")
    reason = answer.value.reason[:REASON_CHARACTERS] or str(seen)
    return Decided(Difficulty(answer.value.difficulty), reason, "model")


def _told(decided: Decided, routes: Routes, own: str | None) -> dict[str, Any]:
    chain = routes.models.get(decided.difficulty, ())
    return {
        "difficulty": str(decided.difficulty),
        "model": own or (chain[0] if chain else None),
        "reason": decided.reason,
        "by": decided.by,
    }
