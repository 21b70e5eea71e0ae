"""Counts the depth and the values of a JSON body as it arrives.

Validating a value costs a thousand times more than reading its bytes, and so does an error for
each of a million unknown fields. So a body that is deeper, or has more values, than any valid
request is refused before validation. Each piece of a body takes about a millisecond, and other
requests are served between two pieces. The parser decides whether the body is JSON.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEEPEST = 16
MARKS_A_VALUE = 3
"""At most: the opening quote of its name, its own quote or bracket, a comma."""
_OUTSIDE = re.compile(rb'[^"\[\]{},]*+')
_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_OPEN, _CLOSE = b"[{", b"]}"


@dataclass(frozen=True, slots=True)
class TooComplex:
    """The limit that a body exceeds."""

    message: str
    limit: int


class JsonShape:
    """Counts one body, whose pieces may end anywhere. After the first problem (`wrong`) it ignores
    the rest."""

    def __init__(self, most_values: int) -> None:
        self.wrong: TooComplex | None = None
        self._most = most_values
        self._marks = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, piece: bytes) -> None:
        """Count the next piece."""
        place = 0
        if self._escaped and piece:
            place, self._escaped = 1, False
        while place < len(piece) and self.wrong is None:
            if self._in_string:
                place = self._string(piece, place)
                continue
            place = _end(_OUTSIDE, piece, place)
            if place < len(piece):
                self._count(piece[place])
                place += 1

    def _string(self, piece: bytes, place: int) -> int:
        """The place after a string, or the end of the piece."""
        place = _end(_STRING, piece, place)
        if place == len(piece):
            return place
        if piece[place] == _BACKSLASH:  # the escaped character is in the next piece
            self._escaped = True
        else:
            self._in_string = False
        return place + 1

    def _count(self, character: int) -> None:
        self._marks += character not in _CLOSE
        self._in_string = character == _QUOTE
        self._depth += (character in _OPEN) - (character in _CLOSE)
        if self._depth > DEEPEST:
            self.wrong = TooComplex(f"it may be nested {DEEPEST} deep", DEEPEST)
        if self._depth < 0:
            self.wrong = TooComplex("it has more closing than opening brackets", DEEPEST)
        if self._marks > MARKS_A_VALUE * self._most:
            self.wrong = TooComplex(f"it may have {self._most} values", self._most)


def _end(pattern: re.Pattern[bytes], piece: bytes, place: int) -> int:
    found = pattern.match(piece, place)
    return place if found is None else found.end()
