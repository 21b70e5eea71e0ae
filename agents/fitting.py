"""Fitting: a conversation within the context of the model that is asked. Pure.

`agents.trimming` keeps it short for its price, by bounds that are the same for all models. Here it
is cut to what one model has room for: first by the same steps in a smaller size, then by the middle
of long outputs and by leaving fewer exchanges. The task and all feedback stay: what does not fit
then is for the provider to refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.messages import AnyMessage, ToolMessage

from agents.exchanges import KEPT_EXCHANGES, said, without_old_exchanges
from agents.ports import Bounds
from agents.texts import head_and_tail
from agents.trimming import shown, without_old_output

CHARACTERS_A_TOKEN = 3
"""Of code and figures in most tokenizers; prose has four."""
LEAST_ROOM = 4_000
_STEPS = ((KEPT_EXCHANGES, 8_000), (KEPT_EXCHANGES, 3_000), (3, 1_500), (2, 800), (1, 400))
"""Exchanges that stay, and characters of each of their outputs: the first that fits will do."""


def room(tokens: int, beside: int) -> int:
    """Characters of conversation for which a request of so many tokens has room.

    `beside` are the characters that go with each: the instructions, and the tools on offer.
    """
    return max(LEAST_ROOM, tokens * CHARACTERS_A_TOKEN - beside)


def fitted(
    messages: Sequence[AnyMessage], usual: list[AnyMessage], bounds: Bounds, most: int | None
) -> list[AnyMessage]:
    """What a request has of the conversation, in about `most` characters; None: no matter.

    `usual` is what is `shown` of it by these bounds, whatever the model.
    """
    if most is None:
        return usual
    history = _least(bounds.history, most // 4)
    conversation = _least(bounds.conversation, most // 2)
    smaller = replace(bounds, history=history, conversation=conversation)
    given = usual if smaller == bounds else shown(messages, smaller)
    for kept, output in _STEPS:
        if size(given) <= most:
            break
        whole = without_old_exchanges(without_old_output(messages, history), most // 3, kept)
        given = [_cut(message, output) for message in whole]
    return given


def size(messages: Sequence[AnyMessage]) -> int:
    """Its characters, with the arguments of the model's calls."""
    return sum(map(said, messages))


def _least(bound: int | None, most: int) -> int:
    return most if bound is None else min(bound, most)


def _cut(message: AnyMessage, limit: int) -> AnyMessage:
    if not isinstance(message, ToolMessage):
        return message
    return message.model_copy(update={"content": head_and_tail(str(message.text), limit)})
