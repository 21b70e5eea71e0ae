"""Fits a request with ranked parts into a budget. Pure.

The parts with the lowest rank stay. A part that does not fit is replaced by its name and its size,
so that its reader knows about it. The result depends on the message and the budget alone: the
journal and recordings have the longest request, and each model gets the part that fits its context.

See ADR 81.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from langchain_core.messages import BaseMessage

from agents.context.trimming import text_of
from agents.errors import ModelNotConfigured
from agents.models.provider import ProviderModel
from agents.models.role_models import RoleModels
from agents.ports import Role
from agents.prompts import Part, Ranked, trimmable_parts, with_parts
from agents.texts import head_and_tail, weight

LEAST_BUDGET: Final = 24_000
MOST_BUDGET: Final = 200_000
"""The largest size in bytes of a request with ranked parts; an ASCII character is one byte."""
BYTES_A_TOKEN: Final = 3
"""The bytes of a token of code, numbers and Chinese in most tokenizers; English prose has four and
more. Requests are cut by this figure."""
LEAST_CUT = 600
"""A text is cut in the middle only if at least this number of characters stays."""


def budget_of(context: int | None, share: float) -> int:
    """The budget in bytes: a share of the model's context in tokens, which is None if unknown."""
    return min(MOST_BUDGET, max(LEAST_BUDGET, round((context or 0) * BYTES_A_TOKEN * share)))


def within_budget(messages: Sequence[BaseMessage], budget: int) -> list[BaseMessage]:
    """Each message within `budget` bytes. A message without ranked parts is unchanged."""
    return [fit_message(message, budget) for message in messages]


def fit_message(message: BaseMessage, budget: int) -> BaseMessage:
    """The message within `budget` bytes, or as close as its ranked parts allow."""
    text, parts = text_of(message), trimmable_parts(message)
    ranked = {part: part.ranked for part in parts if part.ranked is not None}
    if not ranked or weight(text) <= budget:
        return message
    new_texts = _choose_texts(ranked, budget - weight(text), budget)
    pieces, new_parts, position, length = [], list[Part](), 0, 0
    for part in parts:
        new_text = new_texts.get(part, text[part.start : part.end])
        before = text[position : part.start]
        pieces += [before, new_text]
        start = length + len(before)
        length, position = start + len(new_text), part.end
        if part.ranked is None or new_text != part.ranked.stand_in:
            new_parts.append(Part(start, length, part.ranked))
    return with_parts(message, "".join([*pieces, text[position:]]), new_parts)


def _choose_texts(ranked: dict[Part, Ranked], surplus: int, budget: int) -> dict[Part, str]:
    """The text of each part: the full text, a cut text, or its short form. `surplus` is the space
    that remains with all full texts; it is below 0."""
    texts = {part: content.stand_in for part, content in ranked.items()}
    space = surplus
    space += sum(weight(content.text) - weight(content.stand_in) for content in ranked.values())
    for part, content in sorted(ranked.items(), key=lambda item: item[1].rank):
        text, size, least = content.text, weight(content.text), weight(content.stand_in)
        if size > least + max(space, 0):
            if content.in_full and size <= budget:
                continue
            # A text that is cut leaves a quarter of the space to the texts after it.
            text = head_and_tail(text, max(space, 0) * len(text) * 3 // (4 * size))
            if len(text) < LEAST_CUT or weight(text) > least + space:
                continue
        texts[part] = text
        space -= weight(text) - least
    return texts


async def context_characters(models: RoleModels, role: Role) -> int | None:
    """The context of the role's first model in characters of code; None if it is unknown."""
    try:
        model = models.model(models.name(role), role)
    except ModelNotConfigured:  # a fallback may be configured
        return None
    if not isinstance(model, ProviderModel):
        return None
    await model.learn_context()
    return None if model.context is None else model.context * BYTES_A_TOKEN
