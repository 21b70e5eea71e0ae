"""Measure how the time of a regular expression grows with its input.

The inputs are made from the pattern: a text that the beginning of the pattern matches, then many
repetitions of a text that one of its parts matches, then a text that it does not match. If the
input is twice as long, a pattern that backtracks needs much more than twice the time.
"""

from __future__ import annotations

import multiprocessing
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

LONGEST = 8_192
"""Characters of the longest input."""
SLOW_SECONDS = 0.01
"""A shorter time says nothing about growth."""
SUPERLINEAR = 9.0
"""Times the time for four times the input. A linear pattern has 4, a quadratic one 16."""
ENDS = ("", "\0", "\n!", "x")
_CHARACTERS = "a1 -_./:=\"'<[(\nZ~\té\0"


@dataclass(frozen=True)
class Use:
    """A pattern, and a method of it that the product calls."""

    location: str
    pattern: str | bytes
    flags: int
    method: str

    def __str__(self) -> str:
        return f"{self.location} {self.method} {self.pattern!r}"

    def growth(self, seconds: float = 120) -> str | None:
        """Run `find_growth` in its own process, and end the process after `seconds`."""
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=lambda: theirs.send(self.find_growth()), daemon=True)
        child.start()
        try:
            return ours.recv() if ours.poll(seconds) else f"no end within {seconds} s"
        finally:
            child.kill()
            child.join()

    def find_growth(self) -> str | None:
        """The input for which the time grows faster than the input, or None."""
        compiled = re.compile(self.pattern, self.flags)
        for beginning, part, end in inputs(self.pattern, self.flags):
            if (factor := self._factor(compiled, beginning, part, end)) is not None:
                return f"{beginning!r} + n * {part!r} + {end!r}: {factor:.0f} times for 4 n"
        return None

    def _factor(self, compiled: Any, beginning: str, part: str, end: str) -> float | None:
        seconds: list[float] = []
        size = 64
        while size <= LONGEST:
            text: str | bytes = beginning + part * (size // len(part)) + end
            if isinstance(self.pattern, bytes):
                text = text.encode("latin-1", "replace")
            seconds.append(self._seconds(compiled, text))
            if seconds[-1] > SLOW_SECONDS and len(seconds) > 2:
                factor = seconds[-1] / max(seconds[-3], 1e-6)
                if factor > SUPERLINEAR and self._confirmed(compiled, text, seconds[-3]):
                    return factor
                if seconds[-1] > 20 * SLOW_SECONDS:
                    return None
            size *= 2
        return None

    def _confirmed(self, compiled: Any, text: str | bytes, shorter: float) -> bool:
        """Whether the second measurement is also slow; the machine may have been busy during the
        first.
        """
        best = min(self._seconds(compiled, text) for _ in range(3))
        return best > SLOW_SECONDS and best / max(shorter, 1e-6) > SUPERLINEAR

    def _seconds(self, compiled: Any, text: str | bytes) -> float:
        begin = time.process_time()
        match self.method:
            case "sub" | "subn":
                getattr(compiled, self.method)(text[:0], text)
            case "finditer":
                for _ in compiled.finditer(text):
                    pass
            case _:
                getattr(compiled, self.method)(text)
        return time.process_time() - begin


def inputs(pattern: str | bytes, flags: int) -> Iterator[tuple[str, str, str]]:
    """Inputs without duplicates: (beginning, repeated part, end)."""
    earlier_inputs = set()
    items = list(parser.parse(pattern, flags & ~re.DEBUG))
    for beginning, part in _parts(items):
        for before in {"", beginning}:
            for end in ENDS:
                parts_of_input = (before, part, end)
                if part and parts_of_input not in earlier_inputs:
                    earlier_inputs.add(parts_of_input)
                    yield parts_of_input


def _parts(items: Sequence[Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Pairs: a text that leads to a repetition, and a text to repeat."""
    for index, (op, argument) in enumerate(items):
        beginning = before + "".join(_sample(item) for item in items[:index])
        yield before, "".join(_sample(item) for item in items[: index + 1])
        for inner in _inner(op, argument):
            yield from _parts(inner, beginning)
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT) and argument[1] > 8:
            for text in _texts(argument[2]):
                yield beginning, text
                yield beginning, f"{text}\n"
                following = "".join(_sample(item) for item in items[index + 1 :])
                yield beginning, following
                yield beginning, text + following[:1]


def _inner(op: Any, argument: Any) -> Iterator[Sequence[Any]]:
    if op is ops.BRANCH:
        yield from (list(branch) for branch in argument[1])
    elif op is ops.SUBPATTERN:
        yield list(argument[3])
    elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        yield list(argument[2])
    elif op in (ops.ASSERT, ops.ASSERT_NOT):
        yield list(argument[1])
    elif op is ops.ATOMIC_GROUP:
        yield list(argument)


def _texts(body: Iterable[Any]) -> set[str]:
    """Some texts that a repeated part matches."""
    items = list(body)
    if len(items) == 1:
        op, argument = items[0]
        if op is ops.SUBPATTERN:
            return _texts(argument[3])
        if op is ops.BRANCH:
            return {text for branch in argument[1] for text in _texts(branch)}
        if op in (ops.IN, ops.ANY, ops.NOT_LITERAL, ops.CATEGORY):
            return set(_matching(items[0])[:3])
    return {"".join(_sample(branch) for branch in items)}


def _sample(item: Any) -> str:
    """A text that an item matches."""
    op, argument = item
    if op is ops.LITERAL:
        return chr(argument)
    if op in (ops.IN, ops.ANY, ops.NOT_LITERAL, ops.CATEGORY):
        return next(iter(_matching(item)), "")
    if op is ops.BRANCH:
        return "".join(_sample(part) for part in argument[1][0])
    if op is ops.SUBPATTERN:
        return "".join(_sample(part) for part in argument[3])
    if op is ops.ATOMIC_GROUP:
        return "".join(_sample(part) for part in argument)
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        least, most, body = argument
        times = min(max(least, 1), most)
        return "".join(_sample(part) for part in body) * times
    return ""


def _matching(item: Any) -> list[str]:
    """Characters that an item matches."""
    op, argument = item
    if op is ops.ANY:
        return ["a", " ", "-"]
    if op is ops.NOT_LITERAL:
        return [character for character in _CHARACTERS if ord(character) != argument]
    if op is ops.CATEGORY:
        return [character for character in _CHARACTERS if _in_category(argument, character)]
    negated = argument[0][0] is ops.NEGATE
    listed = [_first(part) for part in argument if part[0] in (ops.LITERAL, ops.RANGE)]
    pool = [*listed, *_CHARACTERS] if not negated else list(_CHARACTERS)
    return [character for character in pool if _in_class(argument, character) != negated]


def _first(item: Any) -> str:
    op, argument = item
    return chr(argument if op is ops.LITERAL else argument[0])


def _in_class(items: Sequence[Any], character: str) -> bool:
    for op, argument in items:
        if op is ops.LITERAL and ord(character) == argument:
            return True
        if op is ops.RANGE and argument[0] <= ord(character) <= argument[1]:
            return True
        if op is ops.CATEGORY and _in_category(argument, character):
            return True
    return False


def _in_category(category: Any, character: str) -> bool:
    classes = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
    name = str(category).removeprefix("CATEGORY_")
    negated = name.startswith("NOT_")
    matches = re.match(classes[name.removeprefix("NOT_")], character) is not None
    return matches != negated
