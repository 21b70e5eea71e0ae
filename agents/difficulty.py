"""How difficult a task looks, from signals that cost nothing. Pure, and the same every time.

Two scores are added up, one of what makes a task simple and one of what makes it hard. They come
from length, words (whole ones: "fast" is not about an `ast`), and what is asked for. Where both
speak up, they disagree, and somebody has to read the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Difficulty(StrEnum):
    """What a task takes."""

    SIMPLE = "simple"
    MEDIUM = "medium"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which score on a task counts as what; a simple one may not even look hard."""

    simple: float = 0.3
    hard: float = 0.7
    looks_hard: float = 0.15


@dataclass(frozen=True, slots=True)
class Looks:
    """Both scores, and in words what they come from."""

    simple: float
    hard: float
    why: tuple[str, ...]

    def verdict(self, at: Thresholds) -> Difficulty | None:
        """What it is; None where the signals disagree."""
        simple = self.simple >= at.simple
        if self.hard >= at.hard:
            return None if simple else Difficulty.HARD
        if simple:
            return Difficulty.SIMPLE if self.hard < at.looks_hard else None
        return Difficulty.MEDIUM

    def __str__(self) -> str:
        told = f"simple {self.simple:.2f}, hard {self.hard:.2f}"
        return f"{told}: {'; '.join(self.why)}" if self.why else told


SIMPLE_WORDS: Mapping[str, float] = {
    **dict.fromkeys(("hello", "print", "typo", "rename", "palindrome", "factorial"), 0.2),
    **dict.fromkeys(("fibonacci", "prime", "vowels", "anagram", "fizzbuzz", "celsius"), 0.2),
    **dict.fromkeys(("simple", "small", "short", "reverse", "sum", "average", "count"), 0.15),
    **dict.fromkeys(("sort", "convert", "maximum", "minimum", "duplicates", "histogram"), 0.1),
}
HARD_WORDS: Mapping[str, float] = {
    **dict.fromkeys(("distributed", "concurrent", "concurrency", "compiler", "interpreter"), 0.3),
    **dict.fromkeys(("deadlock", "architecture", "framework", "consensus", "transaction"), 0.3),
    **dict.fromkeys(("asyncio", "asynchronous", "thread", "threads", "multiprocessing"), 0.2),
    **dict.fromkeys(("parser", "protocol", "scheduler", "simulation", "encryption"), 0.2),
    **dict.fromkeys(("optimize", "optimise", "refactor", "migrate", "migration", "ast"), 0.2),
    **dict.fromkeys(("database", "schema", "server", "neural", "solver", "backtracking"), 0.15),
    **dict.fromkeys(("performance", "cache", "benchmark", "thread-safe", "plugin"), 0.15),
}
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")
_SENTENCE = re.compile(r"[.!?](?:\s|$)")
_STEP = re.compile(r"^\s*(?:[-*]|\d+[.)])\s+\S", re.MULTILINE)
_CONJUNCTIONS = frozenset({"and", "then", "also", "plus", "additionally", "furthermore"})
_TESTS = frozenset({"test", "tests", "pytest", "unittest"})
_CLASSES = frozenset({"class", "classes"})

SHORT_WORDS, FEW_WORDS, MANY_WORDS = 20, 50, 150
MANY_SENTENCES, SOME_STEPS, MANY_STEPS = 6, 3, 5
MANY_CONJUNCTIONS, MANY_FILES = 4, 5


@dataclass(frozen=True, slots=True)
class _Signal:
    why: str
    simple: float = 0.0
    hard: float = 0.0


def looks(task: str, *, steps: int = 0, files: int = 0) -> Looks:
    """The scores of a task; `steps` are those of the caller's own plan, `files` what comes along.

    The weights are those of a system that this one is modelled on, and have held there.
    """
    words = [word.lower() for word in _WORD.findall(task)]
    signals = [*_length(words, task), *_shape(words, task, steps, files), *_named(frozenset(words))]
    return Looks(
        round(sum(signal.simple for signal in signals), 2),
        round(sum(signal.hard for signal in signals), 2),
        tuple(signal.why for signal in signals),
    )


def _length(words: Sequence[str], task: str) -> Iterator[_Signal]:
    count = f"{len(words)} words"
    if len(words) < SHORT_WORDS:
        yield _Signal(count, simple=0.25)
    elif len(words) < FEW_WORDS:
        yield _Signal(count, simple=0.1)
    elif len(words) > MANY_WORDS:
        yield _Signal(count, hard=0.2)
    if (sentences := len(_SENTENCE.findall(task))) > MANY_SENTENCES:
        yield _Signal(f"{sentences} sentences", hard=0.2)


def _shape(words: Sequence[str], task: str, steps: int, files: int) -> Iterator[_Signal]:
    listed = max(steps, len(_STEP.findall(task)))
    if listed >= SOME_STEPS:
        yield _Signal(f"{listed} steps", hard=0.3 if listed >= MANY_STEPS else 0.15)
    if sum(word in _CONJUNCTIONS for word in words) >= MANY_CONJUNCTIONS:
        yield _Signal("many conjunctions", hard=0.15)
    if _CLASSES & set(words):
        yield _Signal("classes", hard=0.15)
    if _TESTS & set(words):
        yield _Signal("tests", hard=0.1)
    if files > MANY_FILES:
        yield _Signal(f"{files} files", hard=0.2)


def _named(words: frozenset[str]) -> Iterator[_Signal]:
    if simple := sorted(words & SIMPLE_WORDS.keys()):
        weight = sum(SIMPLE_WORDS[word] for word in simple)
        yield _Signal(f"simple words: {', '.join(simple)}", simple=weight)
    if hard := sorted(words & HARD_WORDS.keys()):
        weight = sum(HARD_WORDS[word] for word in hard)
        yield _Signal(f"hard words: {', '.join(hard)}", hard=weight)
