"""Trims long conversations, whatever the model's context. Pure.

Each request repeats the conversation, so old tool output is paid for again and again, and a job's
input grows with the square of its calls. Trimming happens in few, big steps and not by a sliding
window: providers cache the beginning of a prompt, and read it at a tenth of the price as long as it
does not change.

Old tool output goes first. The model's own text stays until there is too much of it; then half of
the oldest exchanges (a reply with the results of its calls) go at once. The task, the feedback and
the files in the workspace stay, and the state keeps the whole conversation. The result depends on
the conversation alone, so an attempt after a crash sends the same.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from agents.models.replies.fields import fields_size
from agents.ports import Bounds
from agents.prompts import render
from agents.texts import one_line

KEPT_OUTPUTS = 3
"""The latest outputs stay, whatever their size: the model is working with them."""
KEPT_EXCHANGES = 5
LEAST_CHARACTERS = 400
"""A shorter output stays: its replacement would not be much shorter."""
SHOWN_CHARACTERS = 80
LOOKED_AT = 3 * SHOWN_CHARACTERS
"""Characters read for the beginning of an output; this happens for each request."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The messages from `start` up to `end`; `size` is the model's own text in characters,
    with its calls and fields."""

    start: int
    end: int
    size: int


def trimmed(messages: Sequence[AnyMessage], bounds: Bounds) -> list[AnyMessage]:
    """The part of the conversation that a request repeats."""
    return without_old_exchanges(without_old_output(messages, bounds.history), bounds.conversation)


def without_old_output(messages: Sequence[AnyMessage], step: int | None) -> list[AnyMessage]:
    """The conversation without old tool output; None: with all of it.

    `step` is in characters: once a request has that much old output, all of it goes.
    """
    if step is None:
        return list(messages)
    out = _left_out(messages, step)
    return [_stub(message) if place in out else message for place, message in enumerate(messages)]


def without_old_exchanges(messages: Sequence[AnyMessage], most: int | None) -> list[AnyMessage]:
    """The conversation with at most about `most` characters of the model's text; None: all.

    The latest `KEPT_EXCHANGES` stay, whatever their size.
    """
    if most is None:
        return list(messages)
    kept: deque[Exchange] = deque()
    size = 0
    for each in exchanges(messages):  # as each earlier request did
        kept.append(each)
        size += each.size
        if size > most:
            while size > most // 2 and len(kept) > KEPT_EXCHANGES:
                size -= kept.popleft().size
    return latest(messages, len(kept))


def latest(messages: Sequence[AnyMessage], kept: int) -> list[AnyMessage]:
    """The conversation with its latest `kept` exchanges, and a note about the others."""
    gone = exchanges(messages)[:-kept]
    if not gone:
        return list(messages)
    places = {place for each in gone for place in range(each.start, each.end)}
    left = [message for place, message in enumerate(messages) if place not in places]
    replies = [messages[each.start] for each in gone]
    calls = (call for each in replies if isinstance(each, AIMessage) for call in each.tool_calls)
    tools = sorted(Counter(call["name"] for call in calls).items())
    note = HumanMessage(render("executor/left_out", replies=len(replies), tools=tools))
    return [*left[:1], note, *left[1:]]


def exchanges(messages: Sequence[AnyMessage]) -> list[Exchange]:
    """The exchanges, in order."""
    found: list[Exchange] = []
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            args = (str(value) for call in message.tool_calls for value in call["args"].values())
            size = len(text_of(message)) + sum(map(len, args)) + fields_size(message)
            found.append(Exchange(place, place + 1, size))
        elif isinstance(message, ToolMessage) and found:
            found[-1] = Exchange(found[-1].start, place + 1, found[-1].size)
    return found


def text_of(message: BaseMessage) -> str:
    """The text of a message. `BaseMessage.text` creates a new object each time, which is slow for a
    long conversation."""
    content = message.content
    return content if isinstance(content, str) else str(message.text)


def _left_out(messages: Sequence[AnyMessage], step: int) -> frozenset[int]:
    """The indexes of outputs that are left out, found by replaying all earlier requests."""
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
        elif size >= step:  # a request was sent here, or is sent now
            out += old
            old, size = [], 0
    return frozenset(out)


def _ends(messages: Sequence[AnyMessage]) -> Iterable[int]:
    """Indexes of outputs, of replies, and the end, where the next reply will be."""
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage | AIMessage):
            yield place
    yield len(messages)


def _stub(message: AnyMessage) -> AnyMessage:
    """A replacement for an output: its length and its beginning."""
    text = text_of(message)
    beginning = one_line(text.lstrip()[:LOOKED_AT], SHOWN_CHARACTERS)
    return message.model_copy(
        update={
            "content": f"[{len(text):,} characters, left out to save space; beginning: {beginning}]"
        }
    )
