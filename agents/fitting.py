"""Fitting: a conversation within the context of the model that is asked. Pure.

`agents.trimming` keeps it short for its price, by bounds that are the same for all models. Here it
is cut to what one model has room for: first by the same steps in a smaller size, then by the middle
of long outputs and by leaving fewer exchanges. What is spare in requests and feedback goes, too
(`agents.lightening`); the task stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from agents.exchanges import KEPT_EXCHANGES, text_of, without_old_exchanges
from agents.lightening import lightened
from agents.ports import Bounds
from agents.texts import head_and_tail, weight
from agents.trimming import shown, without_old_output

BYTES_A_TOKEN = 3
"""Of code and figures, and of Chinese, in most tokenizers; English prose has four and more. What
is to fit is cut by it."""
MOST_BYTES_A_TOKEN = 5
"""Of prose at its best: what is too long by it too has no hope."""
LEAST_ROOM = 4_000
_STEPS = ((KEPT_EXCHANGES, 8_000), (KEPT_EXCHANGES, 3_000), (3, 1_500), (2, 800), (1, 400))
"""Exchanges that stay, and characters of each of their outputs: the first that fits will do."""


def room(tokens: int, context: int, beside: int) -> int:
    """Bytes of messages for which a request of so many tokens has room.

    `beside` are the bytes that go with each: the instructions, and the tools on offer. Where they
    leave next to none, some of what the context keeps for the reply is taken.
    """
    least = min(LEAST_ROOM, context * BYTES_A_TOKEN - beside)
    return max(least, tokens * BYTES_A_TOKEN - beside)


def hopeless(taken: int, context: int, *, cuts: bool) -> bool:
    """Whether a request of so many bytes is not worth being sent to a model of so many tokens.

    A provider refuses for nothing what is too long, and knows how long it is: it is asked as long
    as there is hope. One that `cuts` what is too long, and says nothing, is asked what surely fits.
    """
    return taken // (BYTES_A_TOKEN if cuts else MOST_BYTES_A_TOKEN) > context


def fitted(
    messages: Sequence[AnyMessage], usual: list[AnyMessage], bounds: Bounds, most: int | None
) -> list[AnyMessage]:
    """What a request has of the conversation, in about `most` bytes; None: no matter.

    `usual` is what is `shown` of it by these bounds, whatever the model.
    """
    if most is None:
        return usual
    history = _least(bounds.history, most // 4)
    conversation = _least(bounds.conversation, most // 2)
    smaller = replace(bounds, history=history, conversation=conversation)
    given = usual if smaller == bounds else shown(messages, smaller)
    if size(given) <= most:
        return given
    said = lightened(messages, _spare_bytes(messages, most))
    for kept, output in _STEPS:
        given = _stepped(said, history, most // 3, kept, output)
        if size(given) <= most:
            return given
    least = _stepped(messages, history, most // 3, *_STEPS[-1])
    return lightened(least, size(least) - most)


def size(messages: Sequence[BaseMessage]) -> int:
    """Its bytes, with the arguments of the model's calls."""
    return sum(map(_weight, messages))


def _weight(message: BaseMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    args = (str(value) for call in calls for value in call["args"].values())
    return weight(text_of(message)) + sum(map(weight, args))


def _spare_bytes(messages: Sequence[AnyMessage], most: int) -> int:
    """How much of requests and feedback is too much: what is spare in them may have a third of
    what the rest of them leaves of the room."""
    asked = [message for message in messages if isinstance(message, HumanMessage)]
    least = size(lightened(asked, size(asked)))
    return size(asked) - least - max(0, most - least) // 3


def _stepped(
    messages: Sequence[AnyMessage], history: int, said: int, kept: int, output: int
) -> list[AnyMessage]:
    whole = without_old_exchanges(without_old_output(messages, history), said, kept)
    return [_cut(message, output) for message in whole]


def _least(bound: int | None, most: int) -> int:
    return most if bound is None else min(bound, most)


def _cut(message: AnyMessage, limit: int) -> AnyMessage:
    if not isinstance(message, ToolMessage):
        return message
    return message.model_copy(update={"content": head_and_tail(str(message.text), limit)})
