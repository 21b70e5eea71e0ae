"""Replies of one provider in a request to another."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage


def normalize_history_for(provider: str, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """`messages`, with other providers' replies as plain text and calls.

    Thoughts and signatures are specific to a provider; some clients raise at them.
    """
    return [_plain(each) if _is_foreign(each, provider) else each for each in messages]


def _is_foreign(message: BaseMessage, provider: str) -> bool:
    if not isinstance(message, AIMessage) or isinstance(message.content, str):
        return False
    return message.response_metadata.get("model_provider") != provider


def _plain(message: BaseMessage) -> BaseMessage:
    return message.model_copy(update={"content": str(message.text)})
