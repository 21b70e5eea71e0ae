"""Asks the model of a role for a structured value, with one repair."""

from __future__ import annotations

from typing import TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agents.calls.call_key import call_key
from agents.calls.journal import model_call
from agents.context.overflow import Messages
from agents.models.chains import Role
from agents.models.replies.structured import Answer, ask, read
from agents.ports import Ports
from agents.prompts import past_reply, render

T = TypeVar("T", bound=BaseModel)


async def ask_role(
    runtime: Runtime[Ports],
    role: Role,
    messages: Messages,
    schema: type[T],
    *,
    level: int = 0,
) -> Answer[T]:
    """The model's value; if its first reply is invalid, that of its second."""
    first = await _ask(runtime, role, messages, schema, ordinal=0, level=level)
    if first.value is not None:
        return first
    repair = render("repair", error=first.error, tool=schema.__name__)
    again = [*messages, past_reply(first.said or "(nothing)"), HumanMessage(repair)]
    return await _ask(runtime, role, again, schema, ordinal=1, level=level)


async def _ask(
    runtime: Runtime[Ports],
    role: Role,
    messages: Messages,
    schema: type[T],
    *,
    ordinal: int,
    level: int,
) -> Answer[T]:
    ports = runtime.context
    fresh: Answer[T] | None = None

    async def call(model: BaseChatModel, given: Messages) -> AIMessage:
        nonlocal fresh
        fresh = await ask(model, given, schema)
        return fresh.message

    at = call_key(runtime.execution_info, ordinal)
    message = await model_call(
        ports, role, at, messages, call, offered=(schema.__name__,), level=level
    )
    return fresh or read(message, schema)
