"""Asks the model of a role for a structured value, with one repair."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agents.calls.call_key import call_key
from agents.calls.journal import model_call
from agents.context.overflow import Messages
from agents.evidence.images import Image, with_images
from agents.models.chains import Role
from agents.models.errors import ReplyUnusable
from agents.models.provider import ProviderModel
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
    images: Sequence[Image] = (),
) -> Answer[T]:
    """The model's value; if its first reply is invalid, that of its second. If no model of the role
    gives a usable reply, an Answer with the error. `images` are added for a model that can see;
    they are no part of the call's key in the journal."""

    async def send(model: BaseChatModel, given: Messages) -> Answer[T]:
        seen = images and isinstance(model, ProviderModel) and model.sees_images
        return await ask(model, with_images(given, images) if seen else given, schema)

    try:
        first = await _ask(runtime, role, messages, schema, send, ordinal=0, level=level)
        if first.value is not None:
            return first
        repair = render("repair", error=first.error, tool=schema.__name__)
        again = [
            *messages,
            past_reply(first.said or "(nothing)", first.message),
            HumanMessage(repair),
        ]
        return await _ask(runtime, role, again, schema, send, ordinal=1, level=level)
    except ReplyUnusable as error:
        return Answer(None, str(error), AIMessage(error.text))


async def _ask(
    runtime: Runtime[Ports],
    role: Role,
    messages: Messages,
    schema: type[T],
    send: Callable[[BaseChatModel, Messages], Awaitable[Answer[T]]],
    *,
    ordinal: int,
    level: int,
) -> Answer[T]:
    ports = runtime.context
    fresh: Answer[T] | None = None

    async def call(model: BaseChatModel, given: Messages) -> AIMessage:
        nonlocal fresh
        fresh = await send(model, given)
        return fresh.message

    at = call_key(runtime.execution_info, ordinal)
    message = await model_call(
        ports, role, at, messages, call, offered=(schema.__name__,), level=level
    )
    return fresh or read(message, schema)
