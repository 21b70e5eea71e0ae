"""Exchanges: a reply of the model with what its calls gave. The oldest go where there are too many.

What a model itself has said is left as it was (`agents.trimming`), but a job of many long programs
would outgrow any context all the same. Then whole exchanges are left out, the oldest first, half of
it all at once, so that the prompt's beginning stays the same until the next time. The task, the
feedback of critic and people, and the files in the workspace stay. Pure.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from agents.prompting import render

KEPT_EXCHANGES = 5


@dataclass(frozen=True, slots=True)
class Exchange:
    """The messages from `start` up to `end`; `size` is what the model said, in characters."""

    start: int
    end: int
    size: int


def without_old_exchanges(
    messages: Sequence[AnyMessage], most: int | None, least: int = KEPT_EXCHANGES
) -> list[AnyMessage]:
    """The conversation with no more than about `most` characters of the model's own; None: all.

    The latest `least` exchanges stay whatever their size.
    """
    if most is None:
        return list(messages)
    gone = _gone(exchanges(messages), most, least)
    if not gone:
        return list(messages)
    places = {place for each in gone for place in range(each.start, each.end)}
    kept = [message for place, message in enumerate(messages) if place not in places]
    note = HumanMessage(render("executor_left_out", **_told([messages[p] for p in sorted(places)])))
    return [*kept[:1], note, *kept[1:]]


def exchanges(messages: Sequence[AnyMessage]) -> list[Exchange]:
    """In order."""
    found: list[Exchange] = []
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            found.append(Exchange(place, place + 1, said(message)))
        elif isinstance(message, ToolMessage) and found:
            found[-1] = Exchange(found[-1].start, place + 1, found[-1].size)
    return found


def text_of(message: BaseMessage) -> str:
    """The text of a message. `BaseMessage.text` makes an object of its own each time, and a long
    conversation is gone through for each request."""
    content = message.content
    return content if isinstance(content, str) else str(message.text)


def said(message: AnyMessage) -> int:
    """The characters of a message, with the arguments of its calls."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    told = sum(len(str(value)) for call in calls for value in call["args"].values())
    return len(text_of(message)) + told


def _gone(every: Sequence[Exchange], most: int, least: int) -> list[Exchange]:
    """Those that are left out, by going through all requests that were made."""
    kept: deque[Exchange] = deque()
    gone: list[Exchange] = []
    size = 0
    for each in every:
        kept.append(each)
        size += each.size
        if size > most:
            while size > most // 2 and len(kept) > least:
                oldest = kept.popleft()
                gone.append(oldest)
                size -= oldest.size
    return gone


def _told(messages: Sequence[AnyMessage]) -> dict[str, object]:
    replies = [message for message in messages if isinstance(message, AIMessage)]
    tools = Counter(call["name"] for message in replies for call in message.tool_calls)
    return {"replies": len(replies), "tools": sorted(tools.items())}
