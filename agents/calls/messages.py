"""The messages of persons, as models read them.

A model call reads the messages that its conversation lacks, immediately before its request, and its
reply names them. The journal has both in one entry. The key of the entry does not depend on the
messages. So a crash neither loses nor repeats a message, and a finished call is never made again
because a message has arrived since.

See ADR 103.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agents.attempt import Ports
from agents.history import MESSAGE, message_number
from agents.ports import Role
from agents.ports.messages import UserMessage
from agents.prompts import render

READERS: frozenset[Role] = frozenset({"planner", "executor", "critic", "tester"})
"""The roles that read messages. The router decides before the graph, and the summary shortens an
answer."""
_READ = "read_messages"
"""Has the messages that a call read, in the metadata of its reply: [number, by, text] of each."""
_UNREAD = "has_unread"
"""Marks an answer that ends a pass while a message is unread."""


async def unread_messages(
    ports: Ports, role: Role, conversation: Sequence[BaseMessage]
) -> Sequence[UserMessage]:
    """The messages that the conversation lacks."""
    if ports.messages is None or role not in READERS:
        return ()
    return await ports.messages.after(max(map(message_number, conversation), default=0))


def as_request(message: UserMessage) -> HumanMessage:
    """The message as a model reads it."""
    text = render("message", by=message.by, text=message.text)
    return HumanMessage(text, response_metadata={MESSAGE: message.number})


def note_messages(reply: AIMessage, read: Sequence[UserMessage]) -> None:
    """Put the messages that the call of a reply read into the metadata of the reply."""
    if read:
        fields = [[message.number, message.by, message.text] for message in read]
        reply.response_metadata = {**reply.response_metadata, _READ: fields}


def messages_read(reply: AIMessage) -> list[HumanMessage]:
    """The messages that the call of a reply read. They belong before the reply."""
    fields_of_each = reply.response_metadata.get(_READ, ())
    return [as_request(UserMessage(*fields)) for fields in fields_of_each]


def with_earlier_messages(reply: AIMessage, earlier: AIMessage) -> AIMessage:
    """`reply`, which replaces the reply `earlier` of the same turn, with the messages of both."""
    fields = [*earlier.response_metadata.get(_READ, ()), *reply.response_metadata.get(_READ, ())]
    metadata = {**reply.response_metadata, _READ: fields}
    return reply.model_copy(update={"response_metadata": metadata})


def mark_unread(reply: AIMessage) -> None:
    """Mark a reply for `has_unread`."""
    reply.response_metadata = {**reply.response_metadata, _UNREAD: True}


def has_unread(reply: BaseMessage) -> bool:
    """Whether a message had arrived that the conversation did not have when the reply ended it."""
    return bool(reply.response_metadata.get(_UNREAD))


def turn_of(reply: AIMessage) -> list[BaseMessage]:
    """The messages that the call of a reply read, and the reply without them."""
    metadata = {name: value for name, value in reply.response_metadata.items() if name != _READ}
    return [*messages_read(reply), reply.model_copy(update={"response_metadata": metadata})]
