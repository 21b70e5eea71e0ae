"""A received request, in a common form for every wire format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lab.provider.turn import ToolCall

Speaker = Literal["system", "user", "assistant", "tool"]
Wire = Literal["openai", "gemini", "anthropic", "ollama"]
_LEFT_OUT = re.compile(r"\[(\d{1,6}) of your earlier replies are left out")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request; a Gemini content with several parts is several messages."""

    speaker: Speaker
    text: str
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """`tools` are the offered names, `forced_tool` the one that must be called.

    `at` is the server's monotonic clock in seconds, to measure the time between two tries.
    Header names are in lower case.
    """

    wire: Wire
    model: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    forced_tool: str | None
    stream: bool
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float

    @property
    def last_text(self) -> str:
        """The text of the last message; empty without messages."""
        return self.messages[-1].text if self.messages else ""

    @property
    def replies_so_far(self) -> int:
        """The number of the model's messages, including the messages that a note of Fettle reports
        as left out.
        """
        users = (message.text for message in self.messages if message.speaker == "user")
        notes = (note for text in users for note in _LEFT_OUT.finditer(text))
        repeated = sum(message.speaker == "assistant" for message in self.messages)
        return repeated + sum(int(note[1]) for note in notes)
