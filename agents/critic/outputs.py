"""Runs as the critic reads them, first the lines that the answer quotes. Pure."""

from __future__ import annotations

import re
import shlex
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from agents.state import Run, text_in
from agents.texts import head_and_tail, lines_of

CODE_SHOWN = 4_000
"""Characters of the program of a run."""
OUTPUT_SHOWN = 4_000
"""Characters of each output of the verification, and of a run that the answer quotes."""
OTHER_OUTPUT_SHOWN = 2_000
"""Characters of each output of the other runs."""
LINE_SHOWN = 400
TESTS_SHOWN = 30
"""Tests that did not pass."""
TEST_SHOWN = 1_000
COMMON = 20
"""A word of the answer that occurs in more lines of an output distinguishes none of them."""
WHAT = {"shell": "command line", "verify": "verification"}
"""The label of a run's text, by its tool; `code` for all others."""

_QUOTED = re.compile(r"`([^`\n]{2,200})`|\"([^\"\n]{2,200})\"")
_NUMBER = re.compile(r"\d[\d.,:/-]*\d")
_SUBSTITUTION = re.compile(r"`|\$\(|[<>]\(")
"""The output of a program as a word of a command."""
_LOOKS = frozenset({"cat", "cd", "echo", "head", "ls", "nl", "pwd", "stat", "tail", "tree"})
"""Programs that only show files."""


def quoted_words(answer: str) -> list[str]:
    """The texts of an answer that may come from an output: numbers, quoted texts, lines."""
    quoted = (one or other for one, other in _QUOTED.findall(answer))
    lines = (line.strip(" \t*-|>") for line in answer.split("\n"))
    words = (*quoted, *_NUMBER.findall(answer), *(line for line in lines if 2 < len(line) <= 200))
    return list(dict.fromkeys(words))


def quoted_lines(text: str, words: Sequence[str]) -> list[int]:
    """The indexes of the lines of `text` that contain one of the words, the best first."""
    starts = list(accumulate(map(len, lines_of(text)), initial=0))
    scores: Counter[int] = Counter()
    for word in words:
        hits = {bisect_right(starts, place) - 1 for place in _places(text, word)}
        if len(hits) <= COMMON:
            scores.update(dict.fromkeys(hits, len(word)))
    return sorted(scores, key=lambda number: (-scores[number], number))


def _places(text: str, word: str) -> Iterator[int]:
    """The first places of a word, one more than COMMON at most."""
    place = text.find(word)
    for _ in range(COMMON + 1):
        if place < 0:
            return
        yield place
        place = text.find(word, place + len(word))


def excerpt(text: str, words: Sequence[str], limit: int) -> str:
    """`text` within about `limit` characters: its head, its tail, and the lines between them that
    contain one of the words, with the number of lines left out."""
    if len(text) <= limit:
        return text
    quoted = quoted_lines(text, words)
    if not quoted:
        return head_and_tail(text, limit)
    lines = [head_and_tail(line, LINE_SHOWN) for line in lines_of(text)]
    ends = range(len(lines))
    chosen = {
        *_fitting(ends, lines, limit // 4),
        *_fitting(reversed(ends), lines, limit // 4),
        *_fitting(quoted, lines, limit // 2),
    }
    pieces, last = [], -1
    for number in sorted(chosen):
        if number > last + 1:
            pieces.append(f"[... {number - last - 1} lines left out ...]\n")
        pieces.append(lines[number])
        last = number
    return "".join(pieces)


def run_text(run: Run, outputs: Mapping[str, str], words: Sequence[str], limit: int) -> str:
    """The program of a run, its outputs in excerpts of about `limit` characters, and the files that
    it saved."""
    what = WHAT.get(run.get("tool", "python"), "code")
    parts = [f"{what}:\n{head_and_tail(text_in(run, 'code').rstrip(), CODE_SHOWN)}"]
    if tests := run.get("tests"):
        parts.append(_tests_text(tests))
    for name, text in outputs.items():
        if text.strip() and not (tests and run["succeeded"]):
            parts.append(f"{name}:\n{excerpt(text.rstrip(), words, limit)}")
    if saved := [str(artifact["name"]) for artifact in run["artifacts"]]:
        parts.append(f"saved: {', '.join(saved)}")
    return "\n\n".join(parts)


def only_looks(run: Run) -> bool:
    """Whether the run only showed files (`cat`, `ls`): it is no evidence of their behaviour."""
    command = text_in(run, "code")
    if run.get("tool") != "shell" or run["artifacts"] or _SUBSTITUTION.search(command):
        return False
    try:
        words = list(_words(command))
    except ValueError:
        return False
    first = [word for before, word in zip([";", *words], words, strict=False) if _is_end(before)]
    operators = [word for word in words if _is_end(word) or set(word) <= set("<>()")]
    return all(_is_end(word) for word in operators) and _LOOKS.issuperset(
        word for word in first if not _is_end(word)
    )


def problem_of(run: Run) -> str:
    """Why a run failed although its exit code is 0; empty for all others."""
    if run["succeeded"] or run["exit_code"] != 0:
        return ""
    return str((run.get("failure") or {}).get("cause", ""))


def _tests_text(tests: Mapping[str, Any]) -> str:
    """The counts of a report of tests, and those that did not pass, worst first."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in tests["counts"].items())
    others = [test for test in tests["tests"] if test["outcome"] != "passed"]
    lines = [
        f"- {test['id']}: {test['outcome']}: {head_and_tail(test['detail'], TEST_SHOWN)}"
        for test in others[:TESTS_SHOWN]
    ]
    more = [f"and {len(others) - TESTS_SHOWN} more"] if len(others) > TESTS_SHOWN else []
    return "\n".join([f"tests: {counts or 'none'}", *lines, *more])


def _words(command: str) -> Iterator[str]:
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return iter(lexer)


def _is_end(word: str) -> bool:
    """Whether it ends a command of a shell."""
    return bool(word) and set(word) <= set(";&|")


def _fitting(numbers: Sequence[int] | Iterator[int], lines: Sequence[str], limit: int) -> list[int]:
    chosen = []
    for number in numbers:
        limit -= len(lines[number])
        if limit < 0:
            break
        chosen.append(number)
    return chosen
