"""Asks the model of a role for a structured value, with one repair."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agents.attempt import Ports
from agents.calls.call_key import call_key, for_call
from agents.calls.messages import messages_read, with_earlier_messages
from agents.calls.model_call import ModelCall, model_call
from agents.context.overflow import Messages
from agents.errors import ReplyUnusable
from agents.models.provider import ProviderModel
from agents.models.replies.structured import Answer, ToolSchema, ask, read
from agents.ports import CallKey, Role
from agents.prompts import past_reply, render
from agents.prompts.images import Image, with_images

T = TypeVar("T", bound=BaseModel)


async def ask_role(
    runtime: Runtime[Ports],
    role: Role,
    messages: Messages,
    schema: type[T],
    *,
    level: int = 0,
    images: Sequence[Image] = (),
    tools: Sequence[ToolSchema] = (),
    replies: int = 0,
) -> Answer[T]:
    """The value in the model's first reply, or in its second reply if the first is invalid. If no
    model of the role gives a usable reply, an Answer with the error.

    `images` are added for a model that takes images; they do not change the call's key in the
    journal. A reply that calls one of `tools` is returned without a value. `replies` counts the
    earlier replies of the conversation. The answer's reply names the messages of persons that
    either call has read.
    """

    async def send(model: BaseChatModel, sent: Messages, tools: Sequence[ToolSchema]) -> Answer[T]:
        shows_images = images and isinstance(model, ProviderModel) and model.sees_images
        return await ask(model, with_images(sent, images) if shows_images else sent, schema, tools)

    at = for_call(call_key(runtime.execution_info), replies)
    question = _Question(runtime.context, role, schema, send, level)
    try:
        first = await question.ask(at, messages, tools)
        if first.value is not None or calls_of(first.message, tools):
            return first
        repair = render("repair", error=first.error, tool=schema.__name__)
        again = [
            *messages,
            *messages_read(first.message),
            past_reply(first.reply_text or "(nothing)", first.message),
            HumanMessage(repair),
        ]
        second = await question.ask(replace(at, ordinal=at.ordinal + 1), again)
        return replace(second, message=with_earlier_messages(second.message, first.message))
    except ReplyUnusable as error:
        return Answer(None, str(error), AIMessage(error.text))


def calls_of(reply: AIMessage, tools: Sequence[ToolSchema]) -> bool:
    """Whether a reply calls one of these tools."""
    names = {tool["function"]["name"] for tool in tools}
    calls = [*reply.tool_calls, *reply.invalid_tool_calls]
    return any(call["name"] in names for call in calls)


@dataclass(frozen=True, slots=True)
class _Question(Generic[T]):
    """A question to a role, for a value of `schema`. `send` calls one model."""

    ports: Ports
    role: Role
    schema: type[T]
    send: Callable[[BaseChatModel, Messages, Sequence[ToolSchema]], Awaitable[Answer[T]]]
    level: int

    async def ask(
        self, at: CallKey, messages: Messages, tools: Sequence[ToolSchema] = ()
    ) -> Answer[T]:
        """The answer; recalled from the journal after a crash."""
        fresh: Answer[T] | None = None

        async def send(model: BaseChatModel, messages: Messages) -> AIMessage:
            nonlocal fresh
            fresh = await self.send(model, messages, tools)
            return fresh.message

        offered = (self.schema.__name__, *(tool["function"]["name"] for tool in tools))
        call = ModelCall(self.role, at, messages, offered, level=self.level)
        message = await model_call(self.ports, call, send)
        return replace(fresh, message=message) if fresh else read(message, self.schema)
