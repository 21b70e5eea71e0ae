"""StreamedText: what a model writes right now, by the `tokens` of the event stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cli.render.words import printable

_KEPT = 2_000
"""Characters that are kept to find the last line."""


@dataclass(frozen=True, slots=True)
class StreamedText:
    """The text of one call so far; empty before the first message."""

    call: str = ""
    attempt: int = 0
    role: str = ""
    part: str = ""
    text: str = ""

    def heard(self, said: Mapping[str, Any]) -> StreamedText:
        """With one more message. Another call, try or part starts a new text."""
        begun = (said["call"], said["try"], said["part"])
        if begun != (self.call, self.attempt, self.part):
            fresh = StreamedText(said["call"], said["try"], said["role"], said["part"])
            return replace(fresh, text=said["text"])
        return replace(self, text=(self.text + said["text"])[-_KEPT:])

    def last_line(self, width: int) -> str:
        """The end of the line that is being written. A tool's arguments are JSON: of them, the line
        within their text."""
        text = (
            self.text.replace("\\n", "\n").replace('\\"', '"') if self.part == "tool" else self.text
        )
        lines = [line.strip() for line in printable(text).splitlines() if line.strip()]
        if not lines:
            return ""
        room = max(width - len(self.role) - 2, 10)
        return f"{self.role}: {lines[-1][-room:]}"
