"""Fits each role's request into the context of the model.

A conversation gets a share of the context. The context is known from the model's library, from its
server or from the settings, and a request that cannot fit into it fails unsent. If a provider still
refuses a request as too long, half of it is sent.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agents.context.ranked import BYTES_A_TOKEN, budget_of, fit_message, within_budget
from agents.context.trimming import size, text_of, trim_exchanges
from agents.errors import ContextExceeded
from agents.models.capabilities.wordings import USEFUL_TOKENS
from agents.models.error_mapping.describe import too_long
from agents.models.provider import ProviderModel
from agents.models.replies.fields import fields_size, without_fields, without_foreign_fields
from agents.ports import Role
from agents.prompts import trimmable_parts, with_parts
from agents.texts import head_and_tail, weight

MOST_BYTES_A_TOKEN = 5
"""The most bytes of a token, in prose: a request that is too long by this figure cannot fit."""
MIN_MESSAGE_BYTES = 4_000
TOOL_BYTES = 1_000
"""An estimate of a tool's description with its arguments, if only its name is known."""
_TRIES = 10
"""Tries of one request. Each try halves the request, so the last one is a five-hundredth."""
_PART_SHARES = tuple(0.9**step for step in range(1, 50))
"""The largest length of each part, as a share of the request. The first share that fits is used."""
LEAST_PART = 100
"""The length in characters to which a part is cut at most: its beginning and end show its kind."""
OUTPUTS_SHARE = 0.25
"""The share of a request with ranked parts for the outputs of tools, if the request is too long."""
USUAL_CONTEXT = 128_000
"""The context in tokens that is assumed for a model with an unknown context."""

Messages = Sequence[BaseMessage]
SendMessages = Callable[[Messages], Awaitable[AIMessage]]


@dataclass(frozen=True, slots=True)
class Draft:
    """A request before it is sent."""

    messages: Messages
    overhead: int
    """The size of its tools and instructions in bytes."""

    @classmethod
    def of(cls, messages: Messages, tool_names: Sequence[str]) -> Self:
        """A request with these tools."""
        return cls(messages, TOOL_BYTES * len(tool_names))


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of a model's context, from 0 to 1."""

    conversation: float = 1.0
    ranked: float = 1.0
    """The share of a message with ranked parts (`agents.context.ranked`)."""


ALL = Shares()


async def ask_within_context(
    model: Any, role: Role, draft: Draft, send: SendMessages, shares: Shares = ALL
) -> AIMessage:
    """The reply to as much of the request as fits into the model's context.

    A conversation and a message with ranked parts are trimmed to their `shares` of the context. If
    the provider refuses the request as too long, half of it is sent. Raises ContextExceeded, with
    the role, the model, the tokens and the remedy, if nothing more can be cut; and before sending,
    if the request cannot fit.
    """
    provider_model = model if isinstance(model, ProviderModel) else None
    messages = draft.messages
    if provider_model:
        await provider_model.learn_context()
        # Other models' fields are not sent.
        name = provider_model.full_name
        messages = [without_foreign_fields(message, name) for message in messages]
        messages = within_budget(messages, budget_of(provider_model.context, shares.ranked))
        draft = replace(draft, messages=messages)
        space = _conversation_space(provider_model, draft, shares.conversation)
        messages = trim_exchanges(messages, space)
    messages = cut(messages, _space(provider_model, draft))
    if provider_model:
        reason = _refusal_to_send(provider_model, size(messages) + draft.overhead)
        if reason is not None:
            error_text = too_long(provider_model.full_name, reason)
            raise ContextExceeded(_error(role, messages, draft, error_text))
    for _ in range(_TRIES):
        try:
            return await send(messages)
        except ContextExceeded as error:
            refusal = error
        most = size(messages) // 2
        if provider_model is not None:
            await provider_model.learn_context(refused=True)
            most = min(most, _space(provider_model, draft) or most)
        shorter = cut(draft.messages, most)
        if size(shorter) >= size(messages):
            break
        messages = shorter
    raise ContextExceeded(
        _error(role, messages, draft, refusal), status=refusal.status
    ) from refusal


def cut(messages: Messages, most: int | None) -> Messages:
    """The messages within `most` bytes, or as short as possible; None: unchanged.

    Old exchanges are left out first (`trim_exchanges`). If the result is still too long, the
    outputs of tools are cut to OUTPUTS_SHARE in a request with ranked parts, and ranked parts are
    left out. Then all trimmable parts and tool outputs are cut to the same length, in the middle.
    The fields of a reply are removed once they are longer than a part may be: a server that
    needs them gets a placeholder.
    """
    if most is None:
        return messages
    shortened = trim_exchanges(messages, most)
    if size(shortened) > most and any(map(_is_ranked, messages)):
        # The critic's tools return up to 20,000 characters, and its evidence is needed more.
        outputs = sum(isinstance(message, ToolMessage) for message in shortened)
        limit = max(LEAST_PART, int(most * OUTPUTS_SHARE) // max(1, outputs))
        messages = [
            _shorten(message, limit) if isinstance(message, ToolMessage) else message
            for message in messages
        ]
        shortened = trim_exchanges(messages, most)
    if (surplus := size(shortened) - most) > 0:
        messages = [
            fit_message(message, max(0, weight(text_of(message)) - surplus)) for message in messages
        ]
        shortened = trim_exchanges(messages, most)
    for share in _PART_SHARES:
        if size(shortened) <= most:
            break
        limit = max(LEAST_PART, int(most * share))
        shortened = trim_exchanges([_shorten(message, limit) for message in messages], most)
    return shortened


def _is_ranked(message: BaseMessage) -> bool:
    return any(part.ranked for part in trimmable_parts(message))


def tool_bytes(tools: Sequence[BaseTool | dict[str, Any]]) -> int:
    """The bytes of the tools in a request, in the form that most providers use."""
    return weight(json.dumps([convert_to_openai_tool(tool) for tool in tools], ensure_ascii=False))


def _shorten(message: BaseMessage, limit: int) -> BaseMessage:
    if fields_size(message) > limit:
        message = without_fields(message)
    text = text_of(message)
    parts = [(part.start, part.end) for part in trimmable_parts(message)]
    if isinstance(message, ToolMessage):
        parts = [(0, len(text))]
    if all(end - start <= limit for start, end in parts):
        return message
    pieces, position = [], 0
    for start, end in parts:
        part = text[start:end]
        pieces += [text[position:start], min(part, head_and_tail(part, limit), key=len)]
        position = end
    return with_parts(message, "".join([*pieces, text[position:]]))


def _conversation_space(model: ProviderModel, draft: Draft, share: float) -> int:
    """The bytes of messages within a share of the model's context, and within its space."""
    within_share = int((model.context or USUAL_CONTEXT) * share) * BYTES_A_TOKEN - draft.overhead
    space = _space(model, draft)
    return within_share if space is None else min(max(within_share, MIN_MESSAGE_BYTES), space)


def _space(model: ProviderModel | None, draft: Draft) -> int | None:
    """The bytes of messages that fit into the model's context; None if the context is unknown.

    If tools and instructions leave almost no space, part of the reply's share is used.
    """
    if model is None or model.context is None or model.most_input is None:
        return None
    least = min(MIN_MESSAGE_BYTES, model.context * BYTES_A_TOKEN - draft.overhead)
    return max(least, model.most_input * BYTES_A_TOKEN - draft.overhead)


def _refusal_to_send(model: ProviderModel, request_bytes: int) -> str | None:
    """Why a request of this size is not sent; None if it is sent.

    A provider refuses a long request at no cost, and knows its true length. So a request is tried
    if it may fit, with a short reply. A provider that cuts silently only gets requests that surely
    fit.
    """
    bytes_a_token = BYTES_A_TOKEN if model.cuts else MOST_BYTES_A_TOKEN
    if model.context is None or request_bytes // bytes_a_token + USEFUL_TOKENS <= model.context:
        return None
    if model.cuts:
        context = f"of {model.context:,} tokens, at {BYTES_A_TOKEN} bytes each"
        return f"{context}, with {USEFUL_TOKENS} for the reply; it silently cuts longer requests"
    return f"of {model.context:,} tokens, as far as is known, with {USEFUL_TOKENS} for the reply"


def _error(role: Role, messages: Messages, draft: Draft, reason: object) -> str:
    request_bytes = size(messages) + draft.overhead
    tokens = f"{request_bytes // MOST_BYTES_A_TOKEN:,} to {request_bytes // BYTES_A_TOKEN:,} tokens"
    return f"the {role}'s request takes about {tokens} after all possible cuts; {reason}"
