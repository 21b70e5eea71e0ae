"""Trimming: what of a long history a model gets to see again. Pure.

Every request repeats the whole conversation, so its old tool output is paid for again and again:
what a job uses grows with the square of its calls. It is left out in few, big steps and not by a
window that slides along: providers keep the beginning of a prompt in a cache, and read it at a
tenth of the price as long as it is the same to the letter. Between two steps it is.

The conversation itself stays whole, in the state. Which output is left out follows from it alone:
whoever goes on after a crash asks the same. What the model has said stays as it was; it would learn
to leave things out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from agents.exchanges import text_of, without_old_exchanges
from agents.ports import Bounds
from agents.texts import one_line

KEPT_OUTPUTS = 3
"""The latest outputs, whatever their size: the model is at work on them."""
LEAST_CHARACTERS = 400
"""A shorter output stays: what would stand in its place is not much shorter."""
SHOWN_CHARACTERS = 80
LOOKED_AT = 3 * SHOWN_CHARACTERS
"""Of an output, for its beginning: each call of the model does this for all that are left out."""


def shown(messages: Sequence[AnyMessage], bounds: Bounds) -> list[AnyMessage]:
    """What a request has of the conversation."""
    return without_old_exchanges(without_old_output(messages, bounds.history), bounds.conversation)


def without_old_output(messages: Sequence[AnyMessage], step: int | None) -> list[AnyMessage]:
    """The conversation with old tool output left out; None: with all of it.

    `step` is in characters: as soon as as much of old output is in a request, all of it goes.
    """
    if step is None:
        return list(messages)
    out = _left_out(messages, step)
    return [_stub(message) if place in out else message for place, message in enumerate(messages)]


def _left_out(messages: Sequence[AnyMessage], step: int) -> frozenset[int]:
    """The places of outputs that are left out, by going through all requests that were made."""
    recent: deque[int] = deque()
    old: list[int] = []
    out: list[int] = []
    size = 0
    for place in _ends(messages):
        message = messages[place] if place < len(messages) else None
        if isinstance(message, ToolMessage):
            recent.append(place)
            if len(recent) > KEPT_OUTPUTS:
                passed = recent.popleft()
                if (characters := len(text_of(messages[passed]))) > LEAST_CHARACTERS:
                    old.append(passed)
                    size += characters
        elif size >= step:  # a request was made here: a reply follows, or is asked for now
            out += old
            old, size = [], 0
    return frozenset(out)


def _ends(messages: Sequence[AnyMessage]) -> Iterable[int]:
    """Places of outputs, of replies, and the end, where the next reply will be."""
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage | AIMessage):
            yield place
    yield len(messages)


def _stub(message: AnyMessage) -> AnyMessage:
    """A message in place of an output: that it was there, how long it was and how it began."""
    text = text_of(message)
    beginning = one_line(text.lstrip()[:LOOKED_AT], SHOWN_CHARACTERS)
    return message.model_copy(
        update={"content": f"[{len(text):,} characters, left out by now. They began: {beginning}]"}
    )
