"""Leaves out the oldest exchanges of a long conversation. Pure.

An exchange is a reply of the model with the results of its calls. As long as a conversation fits,
it is sent unchanged, and the provider's cache knows all but its end. When it does not fit any more,
exchanges are left out until two thirds of the space is free. Such cuts are rare and large, because
the rest of the request after a cut is paid in full again. The prompts (task, feedback) always stay,
and so does the newest exchange, because the model has not read its results.

See ADR 83.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from operator import attrgetter, itemgetter

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agents.history import traces
from agents.models.replies.fields import fields_size
from agents.prompts import render
from agents.texts import weight

READ = "read_file"
"""The tool that shows a file."""
CUT = 3
"""A cut leaves a third of the space in use. If it left a half, a job that ends soon after its first
cut would cost up to 17 % more than without the cut; with a third, it is at most 8 % for three
calls (8 KB a call, 128,000 tokens of context, cached input at a tenth of the price)."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A reply of the model with the results of its calls."""

    start: int
    """The index of its first message."""
    end: int
    """The index after its last message."""
    size: int
    """The bytes of its messages."""
    read: frozenset[str]
    """The paths of the files that its calls read."""
    changed: frozenset[str]
    """The paths of the files that its calls changed."""

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], start: int, end: int) -> Exchange:
        """The exchange of these messages of the conversation."""
        calls = traces(messages[start:end])
        uses = [trace["data"] for trace in calls if trace["kind"] == "tool_used"]
        return cls(
            start,
            end,
            size(messages[start:end]),
            frozenset(use["path"] for use in uses if use["tool"] == READ and use["ok"]),
            frozenset(file["name"] for trace in calls for file in trace["files"]),
        )


def trim_exchanges(messages: Sequence[BaseMessage], most: int) -> Sequence[BaseMessage]:
    """The conversation without old exchanges, so that it takes at most `most` bytes if possible.
    The note about the omitted exchanges is not counted.

    The cuts of all earlier requests of this conversation are made again, one after the other. So
    the result depends on the conversation and `most` alone, and begins like the request before.
    """
    history = exchanges(messages)
    repeated: list[Exchange] = []
    prompts = size(messages[: history[0].start] if history else messages)
    for newest, following in zip_longest(history, history[1:]):
        repeated.append(newest)
        prompts += size(messages[newest.end : following.start if following else None])
        if prompts + sum(exchange.size for exchange in repeated) > most:
            repeated = _cut(repeated, (most - prompts) // CUT)
    starts = {exchange.start for exchange in repeated}
    omitted = [exchange for exchange in history if exchange.start not in starts]
    return _without(messages, omitted)


def exchanges(messages: Sequence[BaseMessage]) -> list[Exchange]:
    """The exchanges, in order."""
    history: list[Exchange] = []
    for start, message in enumerate(messages):
        if isinstance(message, AIMessage):
            end = start + 1
            while end < len(messages) and isinstance(messages[end], ToolMessage):
                end += 1
            history.append(Exchange.of(messages, start, end))
    return history


def size(messages: Sequence[BaseMessage]) -> int:
    """Bytes of the messages, with the arguments of the model's calls and the replies' fields."""
    replies = (message for message in messages if isinstance(message, AIMessage))
    calls = (call for reply in replies for call in reply.tool_calls)
    args = (str(value) for call in calls for value in call["args"].values())
    texts = sum(weight(text_of(message)) for message in messages)
    return texts + sum(map(weight, args)) + sum(map(fields_size, messages))


def text_of(message: BaseMessage) -> str:
    """The text of a message. `BaseMessage.text` creates a new object each time, which is slow for a
    long conversation."""
    content = message.content
    return content if isinstance(content, str) else str(message.text)


def _cut(repeated: Sequence[Exchange], space: int) -> list[Exchange]:
    """The newest exchange, and as many older exchanges as fit with it into `space` bytes.

    The latest exchanges come first, up to half of the space. Exchanges with files that the model
    read and that have not changed since come next, and all others last. In each group, newer
    exchanges come before older ones.
    """
    last_change = {path: exchange.start for exchange in repeated for path in exchange.changed}
    total = 0
    ranked: list[tuple[int, Exchange]] = []
    for exchange in reversed(repeated):
        total += exchange.size
        unchanged = any(last_change.get(path, -1) < exchange.start for path in exchange.read)
        ranked.append((0 if total <= space // 2 else 1 if unchanged else 2, exchange))
    (_, newest), *older = ranked
    chosen, total = [newest], newest.size
    for _, exchange in sorted(older, key=itemgetter(0)):
        if total + exchange.size <= space:
            chosen.append(exchange)
            total += exchange.size
    return sorted(chosen, key=attrgetter("start"))


def _without(messages: Sequence[BaseMessage], omitted: Sequence[Exchange]) -> Sequence[BaseMessage]:
    """The conversation with a note in place of the first omitted exchange."""
    if not omitted:
        return messages
    indexes = {index for exchange in omitted for index in range(exchange.start, exchange.end)}
    replies = (messages[exchange.start] for exchange in omitted)
    calls = (call for reply in replies if isinstance(reply, AIMessage) for call in reply.tool_calls)
    tools = sorted(Counter(call["name"] for call in calls).items())
    note = HumanMessage(render("executor/left_out", replies=len(omitted), tools=tools))
    first = omitted[0].start
    following = [messages[i] for i in range(first, len(messages)) if i not in indexes]
    return [*messages[:first], note, *following]
