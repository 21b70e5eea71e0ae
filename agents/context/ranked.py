"""Fits a request with ranked parts into a budget. Pure.

The parts with the lowest rank stay. A part that does not fit is replaced by its name and its size,
so that its reader knows about it. The result depends on the message and the budget alone: the
journal and recordings have the longest request, and each model gets the part that fits its context.

Why: docs/decisions/0081-the-critics-budget.md
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
"""Bytes of a request with ranked parts; for text in ASCII these are characters."""
BYTES_A_TOKEN: Final = 3
"""For code, numbers and Chinese in most tokenizers; English prose has four and more. Requests are
cut by this figure."""
LEAST_CUT = 600
"""A text is cut in the middle if at least this many characters of it stay."""


def budget_of(context: int | None, share: float) -> int:
    """The budget in bytes: a share of the model's context, which is in tokens (None: it is not
    known)."""
    return min(MOST_BUDGET, max(LEAST_BUDGET, round((context or 0) * BYTES_A_TOKEN * share)))


def within_budget(messages: Sequence[BaseMessage], budget: int) -> list[BaseMessage]:
    """Each message within `budget` bytes; those without ranked parts are unchanged."""
    return [fitted(each, budget) for each in messages]


def fitted(message: BaseMessage, budget: int) -> BaseMessage:
    """The message within `budget` bytes, or as close as its ranked parts allow."""
    text, parts = text_of(message), trimmable_parts(message)
    ranked = {part: part.ranked for part in parts if part.ranked is not None}
    if not ranked or weight(text) <= budget:
        return message
    texts = _chosen(ranked, budget - weight(text), budget)
    pieces, kept, done, length = [], list[Part](), 0, 0
    for part in parts:
        shown = texts.get(part, text[part.start : part.end])
        before = text[done : part.start]
        pieces += [before, shown]
        start = length + len(before)
        length, done = start + len(shown), part.end
        if part.ranked is None or shown != part.ranked.stand_in:
            kept.append(Part(start, length, part.ranked))
    return with_parts(message, "".join([*pieces, text[done:]]), kept)


def _chosen(ranked: dict[Part, Ranked], left: int, budget: int) -> dict[Part, str]:
    """The text of each part. `left` is the space that the whole text leaves, below 0."""
    texts = {part: each.stand_in for part, each in ranked.items()}
    left += sum(weight(each.text) - weight(each.stand_in) for each in ranked.values())
    for part, each in sorted(ranked.items(), key=lambda item: item[1].rank):
        shown, size, least = each.text, weight(each.text), weight(each.stand_in)
        if size > least + max(left, 0):
            if each.in_full and size <= budget:
                continue
            # A text that is cut leaves a quarter of the space to those after it.
            shown = head_and_tail(each.text, max(left, 0) * len(each.text) * 3 // (4 * size))
            if len(shown) < LEAST_CUT or weight(shown) > least + left:
                continue
        texts[part] = shown
        left -= weight(shown) - least
    return texts


async def context_characters(models: RoleModels, role: Role) -> int | None:
    """The context of the role's first model in characters of code; None: it is not known."""
    try:
        model = models.model(models.name(role), role)
    except ModelNotConfigured:  # a fallback may be
        return None
    if not isinstance(model, ProviderModel):
        return None
    await model.learn_context()
    return None if model.context is None else model.context * BYTES_A_TOKEN
