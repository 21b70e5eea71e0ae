"""Asks a model again after a reply that is no answer. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agents.errors import ReplyUnusable
from agents.models.replies.fields import with_fields_of
from agents.models.replies.history import NO_TEXT
from agents.texts import head_and_tail, is_blank

_SHOWN_CHARACTERS = 2_000
"""How much of the unusable reply is quoted. The quotation is paid for, and has to be recognised."""


def ask_again(
    messages: Sequence[BaseMessage], error: ReplyUnusable, tools: Collection[str]
) -> list[BaseMessage]:
    """The request, the reply that is no answer, and the fault of this reply.

    At temperature 0 the unchanged request would get the same reply. If the server broke off, the
    request stays unchanged. `tools` are the names of the tools that are offered.
    """
    if error.transient:
        return list(messages)
    quotation = NO_TEXT if is_blank(error.text) else head_and_tail(error.text, _SHOWN_CHARACTERS)
    request = f"Your last reply {error}. It does not count. {_request(tools)}"
    reply = AIMessage(quotation)
    if error.reply is not None:
        reply = with_fields_of(error.reply, reply)
    return [*messages, reply, HumanMessage(request)]


def _request(tools: Collection[str]) -> str:
    match list(tools):
        case []:
            return "Answer in plain text."
        case [name]:
            return f"Answer by calling `{name}`."
        case _:
            return "Call a tool, or answer in plain text."
