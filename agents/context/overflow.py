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

from agents.context.ranked import BYTES_A_TOKEN, budget_of, fitted, within_budget
from agents.context.trimming import size, text_of, trimmed
from agents.errors import ContextExceeded
from agents.models.capabilities.wordings import USEFUL_TOKENS
from agents.models.error_mapping.describe import too_long
from agents.models.provider import ProviderModel
from agents.models.replies.fields import fields_size, without_fields, without_foreign_fields
from agents.ports import Role
from agents.prompts import trimmable_parts, with_parts
from agents.texts import head_and_tail, weight

MOST_BYTES_A_TOKEN = 5
"""For prose at best: a request that is too long by this figure cannot fit."""
MIN_MESSAGE_BYTES = 4_000
TOOL_BYTES = 1_000
"""An estimate of a tool's description with its arguments, if only its name is known."""
_TRIES = 10
"""Tries of one request. Halved each time, it ends at a five-hundredth."""
_STEPS = tuple(0.9**step for step in range(1, 50))
"""The most that stays of each part, as a share of the request: the first that fits is used."""
LEAST_PART = 100
"""Characters that stay of each part: its beginning and end show its kind."""
OUTPUTS_SHARE = 0.25
"""Of a request with ranked parts that is too long: the share that its tool outputs keep."""
USUAL_CONTEXT = 128_000
"""Tokens, for the share of a conversation in a context that is not known."""

Messages = Sequence[BaseMessage]
Send = Callable[[Messages], Awaitable[AIMessage]]


@dataclass(frozen=True, slots=True)
class Draft:
    """A request before it is sent. `beside` is the size of its tools and instructions in bytes."""

    messages: Messages
    beside: int

    @classmethod
    def of(cls, messages: Messages, offered: Sequence[str]) -> Self:
        """With tools of these names."""
        return cls(messages, TOOL_BYTES * len(offered))


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of a model's context, from 0 to 1: of a conversation, and of a message with ranked
    parts (`agents.context.ranked`)."""

    conversation: float = 1.0
    ranked: float = 1.0


ALL = Shares()


async def ask_within_context(
    model: Any, role: Role, draft: Draft, send: Send, shares: Shares = ALL
) -> AIMessage:
    """The reply to as much of the request as fits into the model's context.

    What takes more than its share of the context is trimmed (`Shares`). If the provider refuses
    the request as too long, half is sent. Raises ContextExceeded, with the role, the model, the
    tokens and what to do, if nothing more can be cut; before sending, if it cannot fit.
    """
    known = model if isinstance(model, ProviderModel) else None
    messages = draft.messages
    if known:
        await known.learn_context()
        # Other models' fields are not sent.
        messages = [without_foreign_fields(each, known.full_name) for each in messages]
        messages = within_budget(messages, budget_of(known.context, shares.ranked))
        draft = replace(draft, messages=messages)
        messages = trimmed(messages, _conversation_space(known, draft, shares.conversation))
    messages = cut(messages, _space(known, draft))
    if known and (why := _unsendable(known, size(messages) + draft.beside)):
        raise ContextExceeded(_error(role, messages, draft, too_long(known.full_name, why)))
    for _ in range(_TRIES):
        try:
            return await send(messages)
        except ContextExceeded as error:
            refused = error
        most = size(messages) // 2
        if known is not None:
            await known.learn_context(refused=True)
            most = min(most, _space(known, draft) or most)
        shorter = cut(draft.messages, most)
        if size(shorter) >= size(messages):
            break
        messages = shorter
    raise ContextExceeded(
        _error(role, messages, draft, refused), status=refused.status
    ) from refused


def cut(messages: Messages, most: int | None) -> Messages:
    """The messages within `most` bytes, or as short as possible; None: unchanged.

    First old exchanges go (`trimmed`). If the rest is still too long, the outputs of tools are cut
    to OUTPUTS_SHARE in a request with ranked parts, and ranked parts are left out. Then all
    trimmable parts and tool outputs are cut alike, in the middle. The fields of a reply go as soon
    as they are longer than a part may be: a server that needs them gets a placeholder.
    """
    if most is None:
        return messages
    shortened = trimmed(messages, most)
    if size(shortened) > most and any(map(_is_ranked, messages)):
        # The critic's tools return up to 20,000 characters, and its evidence is needed more.
        outputs = sum(isinstance(each, ToolMessage) for each in shortened)
        limit = max(LEAST_PART, int(most * OUTPUTS_SHARE) // max(1, outputs))
        messages = [
            _shortened(each, limit) if isinstance(each, ToolMessage) else each for each in messages
        ]
        shortened = trimmed(messages, most)
    if (surplus := size(shortened) - most) > 0:
        messages = [fitted(each, max(0, weight(text_of(each)) - surplus)) for each in messages]
        shortened = trimmed(messages, most)
    for step in _STEPS:
        if size(shortened) <= most:
            break
        limit = max(LEAST_PART, int(most * step))
        shortened = trimmed([_shortened(message, limit) for message in messages], most)
    return shortened


def _is_ranked(message: BaseMessage) -> bool:
    return any(part.ranked for part in trimmable_parts(message))


def tool_bytes(tools: Sequence[BaseTool | dict[str, Any]]) -> int:
    """Their bytes in a request, in the shape that most providers use."""
    return weight(json.dumps([convert_to_openai_tool(tool) for tool in tools], ensure_ascii=False))


def _shortened(message: BaseMessage, limit: int) -> BaseMessage:
    if fields_size(message) > limit:
        message = without_fields(message)
    text = text_of(message)
    parts = [(each.start, each.end) for each in trimmable_parts(message)]
    if isinstance(message, ToolMessage):
        parts = [(0, len(text))]
    if all(end - start <= limit for start, end in parts):
        return message
    pieces, done = [], 0
    for start, end in parts:
        part = text[start:end]
        pieces += [text[done:start], min(part, head_and_tail(part, limit), key=len)]
        done = end
    return with_parts(message, "".join([*pieces, text[done:]]))


def _conversation_space(model: ProviderModel, draft: Draft, share: float) -> int:
    """The bytes of messages within a share of the model's context, and within its space."""
    within_share = int((model.context or USUAL_CONTEXT) * share) * BYTES_A_TOKEN - draft.beside
    space = _space(model, draft)
    return within_share if space is None else min(max(within_share, MIN_MESSAGE_BYTES), space)


def _space(model: ProviderModel | None, draft: Draft) -> int | None:
    """The bytes of messages that fit into the model's context, if it is known.

    If tools and instructions leave almost nothing, part of the reply's share is used.
    """
    if model is None or model.context is None or model.most_input is None:
        return None
    least = min(MIN_MESSAGE_BYTES, model.context * BYTES_A_TOKEN - draft.beside)
    return max(least, model.most_input * BYTES_A_TOKEN - draft.beside)


def _unsendable(model: ProviderModel, taken: int) -> str | None:
    """Why a request of so many bytes is not sent, or None.

    A provider refuses a long request at no cost, and knows its true length, so it is tried if it
    may fit, with a short reply. A provider that cuts silently only gets what surely fits.
    """
    bytes_a_token = BYTES_A_TOKEN if model.cuts else MOST_BYTES_A_TOKEN
    if model.context is None or taken // bytes_a_token + USEFUL_TOKENS <= model.context:
        return None
    if model.cuts:
        at = f"of {model.context:,} tokens, at {BYTES_A_TOKEN} bytes each"
        return f"{at}, with {USEFUL_TOKENS} for the reply; it silently cuts what is longer"
    return f"of {model.context:,} tokens, as far as is known, with {USEFUL_TOKENS} for the reply"


def _error(role: Role, given: Messages, draft: Draft, why: object) -> str:
    taken = size(given) + draft.beside
    tokens = f"{taken // MOST_BYTES_A_TOKEN:,} to {taken // BYTES_A_TOKEN:,} tokens"
    return f"the {role}'s request takes about {tokens} after all possible cuts; {why}"
