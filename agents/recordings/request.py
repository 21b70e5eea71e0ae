"""RecordedRequest: the request of a model call in a recording."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel, ConfigDict, Field

from agents.redaction import Redaction

Speaker = Literal["system", "human", "tool", "model"]
_SPEAKERS: dict[str, Speaker] = {"system": "system", "human": "human", "tool": "tool"}


class RecordedRequest(BaseModel):
    """The messages after the model's last reply, in full, and a digest of the earlier ones.

    Earlier turns have the earlier messages, so that a long conversation is recorded once.
    `messages` are {speaker: text}; `tools` are the names of the tools offered.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    before: str | None = None
    tools: tuple[str, ...] = ()
    messages: tuple[dict[Speaker, str], ...] = Field(min_length=1)

    @property
    def texts(self) -> tuple[tuple[Speaker, str], ...]:
        """Speaker and text of each message."""
        return tuple(pair for message in self.messages for pair in message.items())


def request_of(
    messages: Sequence[BaseMessage], tools: Sequence[str], redaction: Redaction
) -> RecordedRequest:
    """The request without secrets, for recording and for comparison with a recording.

    `messages` are those that the model gets, the system prompt included.
    """
    spoken = [i for i, message in enumerate(messages[:-1], 1) if isinstance(message, AIMessage)]
    start = spoken[-1] if spoken else 0
    return RecordedRequest(
        before=_digest(messages[:start], redaction) if start else None,
        tools=tuple(tools),
        messages=tuple(
            {_SPEAKERS.get(message.type, "model"): redaction.text(str(message.text))}
            for message in messages[start:]
        ),
    )


def own_messages(messages: Sequence[BaseMessage]) -> int:
    """The number of the model's own messages in a request."""
    return sum(isinstance(message, AIMessage) for message in messages)


def _digest(messages: Sequence[BaseMessage], redaction: Redaction) -> str:
    texts = [[message.type, str(message.text), _calls(message)] for message in messages]
    written = json.dumps(redaction.value(texts), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(written.encode()).hexdigest()[:16]


def _calls(message: BaseMessage) -> list[list[Any]]:
    if not isinstance(message, AIMessage):
        return []
    calls = [[call["name"], call["args"]] for call in message.tool_calls]
    return [*calls, *([call["name"], call["args"]] for call in message.invalid_tool_calls)]
