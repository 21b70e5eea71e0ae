"""Spoken: what a model says right now, as the stream's `tokens` tell it, and its last words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cli.render.words import printable

_KEPT = 2_000
"""Characters of what was said that last words are found in."""


@dataclass(frozen=True, slots=True)
class StreamedText:
    """What is heard of one call; nothing before the first."""

    call: str = ""
    attempt: int = 0
    role: str = ""
    part: str = ""
    text: str = ""

    def heard(self, said: Mapping[str, Any]) -> StreamedText:
        """With one more message. Another call, try or part begins anew."""
        begun = (said["call"], said["try"], said["part"])
        if begun != (self.call, self.attempt, self.part):
            fresh = StreamedText(said["call"], said["try"], said["role"], said["part"])
            return replace(fresh, text=said["text"])
        return replace(self, text=(self.text + said["text"])[-_KEPT:])

    def last_words(self, width: int) -> str:
        """The line that is being written, cut to its end. Of a tool's arguments, which are JSON,
        the line within the text that they hold."""
        text = (
            self.text.replace("\\n", "\n").replace('\\"', '"') if self.part == "tool" else self.text
        )
        lines = [line.strip() for line in printable(text).splitlines() if line.strip()]
        if not lines:
            return ""
        room = max(width - len(self.role) - 2, 10)
        return f"{self.role}: {lines[-1][-room:]}"
