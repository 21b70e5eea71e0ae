"""How deep a JSON body is nested and how many values it has, counted as it arrives.

What a validator does with a value costs a thousand times what its bytes cost to read, and an error
for each of a million unknown fields as much again. So what is nested deeper, or has more values,
than any body of ours is refused before there is anything to validate; each piece of a body takes
about a millisecond, and between two of them others are served. Whether it is JSON at all is for the
parser to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEEPEST = 16
MARKS_A_VALUE = 3
"""At most: the quote of its name, its own quote or bracket, a comma."""
_OUTSIDE = re.compile(rb'[^"\[\]{},]*+')
_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_OPEN, _CLOSE = b"[{", b"]}"


@dataclass(frozen=True, slots=True)
class TooComplex:
    """What of a body is beyond its limit."""

    message: str
    limit: int


class JsonShape:
    """Counts one body; its pieces may end anywhere. Once something is `wrong`, the rest is not
    looked at."""

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
        """Go to the end of a string, or of the piece."""
        place = _end(_STRING, piece, place)
        if place == len(piece):
            return place
        if piece[place] == _BACKSLASH:  # what it escapes is in the next piece
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
            self.wrong = TooComplex("it closes more than it has opened", DEEPEST)
        if self._marks > MARKS_A_VALUE * self._most:
            self.wrong = TooComplex(f"it may have {self._most} values", self._most)


def _end(pattern: re.Pattern[bytes], piece: bytes, place: int) -> int:
    found = pattern.match(piece, place)
    return place if found is None else found.end()
