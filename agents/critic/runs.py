"""The runs that the critic reads: which runs, and how much of each; first the lines that the answer
quotes.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from agents.attempt import Ports
from agents.critic.sections import RUNS, VERIFICATION, Section, make_section
from agents.critic.verified import verification_lines
from agents.evidence.verdict import run_of, verification_of
from agents.ports import Workspace
from agents.runs.report import ending_of
from agents.state import Run, State, text_in
from agents.texts import head_and_tail, lines_of, one_line

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
"""A word of the answer that occurs in more lines of an output is not searched for."""
LABELS = {"shell": "command line", "verify": "verification"}
"""The label of a run's text, by its tool; `code` for all others."""

_QUOTED = re.compile(r"`([^`\n]{2,200})`|\"([^\"\n]{2,200})\"")
_NUMBER = re.compile(r"\d[\d.,:/-]*\d")
_SUBSTITUTION = re.compile(r"`|\$\(|[<>]\(")
"""The output of a program as a word of a command."""
_LOOKS = frozenset({"cat", "cd", "echo", "head", "ls", "nl", "pwd", "stat", "tail", "tree"})
"""Programs that only show files."""


def quoted_words(answer: str) -> list[str]:
    """The texts of an answer that may come from an output: numbers, quoted texts, lines."""
    quoted = ("".join(groups) for groups in _QUOTED.findall(answer))
    lines = (line.strip(" \t*-|>") for line in answer.split("\n"))
    words = (*quoted, *_NUMBER.findall(answer), *(line for line in lines if 2 < len(line) <= 200))
    return list(dict.fromkeys(words))


def quoted_lines(text: str, words: Sequence[str]) -> list[int]:
    """The indexes of the lines of `text` that contain one of the words, the best first."""
    starts = list(accumulate(map(len, lines_of(text)), initial=0))
    scores: Counter[int] = Counter()
    for word in words:
        hits = {bisect_right(starts, position) - 1 for position in _positions(text, word)}
        if len(hits) <= COMMON:
            scores.update(dict.fromkeys(hits, len(word)))
    return sorted(scores, key=lambda number: (-scores[number], number))


def _positions(text: str, word: str) -> Iterator[int]:
    """The first places of a word, one more than COMMON at most."""
    position = text.find(word)
    for _ in range(COMMON + 1):
        if position < 0:
            return
        yield position
        position = text.find(word, position + len(word))


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
    label = LABELS.get(run.get("tool", "python"), "code")
    parts = [f"{label}:\n{head_and_tail(text_in(run, 'code').rstrip(), CODE_SHOWN)}"]
    if tests := run.get("tests"):
        parts.append(_tests_text(tests))
    for name, text in outputs.items():
        if text.strip() and not (tests and run["succeeded"]):
            parts.append(f"{name}:\n{excerpt(text.rstrip(), words, limit)}")
    if saved := [str(artifact["name"]) for artifact in run["artifacts"]]:
        parts.append(f"saved: {', '.join(saved)}")
    return "\n\n".join(parts)


def only_looks(run: Run) -> bool:
    """Whether the run only showed files (`cat`, `ls`), which says nothing about their behaviour."""
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
    """The reason why a run failed although its exit code is 0; otherwise empty."""
    if run["succeeded"] or run["exit_code"] != 0:
        return ""
    return str((run.get("failure") or {}).get("cause", ""))


def _tests_text(tests: Mapping[str, Any]) -> str:
    """The counts of a report of tests, and those that did not pass, worst first."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in tests["counts"].items())
    not_passed = [test for test in tests["tests"] if test["outcome"] != "passed"]
    lines = [
        f"- {test['id']}: {test['outcome']}: {head_and_tail(test['detail'], TEST_SHOWN)}"
        for test in not_passed[:TESTS_SHOWN]
    ]
    more = [f"and {len(not_passed) - TESTS_SHOWN} more"] if len(not_passed) > TESTS_SHOWN else []
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


MOST_RUNS = 12
"""Runs that are shown with their outputs, without the verification."""
MOST_READ = 40
"""The last runs are read. A run of an earlier revision is shown if the answer quotes its output."""
MOST_LISTED = 20
COMMAND_SHOWN = 120


@dataclass(frozen=True, slots=True)
class RunsForCritic:
    """The runs of a job as the critic sees them."""

    with_outputs: Sequence[tuple[Run, Mapping[str, str]]]
    """The shown runs, oldest first, each with its complete outputs."""
    quoted_ids: frozenset[str]
    """The ids of the runs of which the answer quotes the outputs."""
    looks: Sequence[Run]
    """Runs that only showed files."""
    left_out: Sequence[Run]
    verified: Run | None
    words: Sequence[str]
    """The words of the answer that may come from an output."""
    ports: Ports

    @classmethod
    async def of(cls, state: State, ports: Ports) -> RunsForCritic:
        """Reads the outputs of the last runs."""
        runs, verified = state.get("runs", []), run_of(verification_of(state), state)
        looks = [run for run in runs if run is not verified and only_looks(run)]
        ids = {run["id"] for run in looks} | ({verified["id"]} if verified else set())
        other_runs = [run for run in runs if run["id"] not in ids]
        answers = state.get("answers", [])
        words = quoted_words(answers[-1]["text"] if answers else "")
        last_runs = other_runs[-MOST_READ:]
        texts = await asyncio.gather(*(_outputs(run, ports.workspace) for run in last_runs))
        outputs = {run["id"]: text for run, text in zip(last_runs, texts, strict=True)}
        quoted_ids = frozenset(run for run, text in outputs.items() if _is_quoted(text, words))
        candidates = [run for run in other_runs if run["id"] in outputs]
        current = [run for run in candidates if run["revision"] == state["revision"]]
        best = [run for run in current if run["id"] not in quoted_ids]
        best += [run for run in candidates if run["id"] in quoted_ids]
        chosen = {run["id"] for run in best[-MOST_RUNS:]}
        with_outputs = [(run, outputs[run["id"]]) for run in candidates if run["id"] in chosen]
        if verified is not None:
            with_outputs.append((verified, await _outputs(verified, ports.workspace)))
        left_out = [run for run in other_runs if run["id"] not in chosen]
        return cls(with_outputs, quoted_ids, looks, left_out, verified, words, ports)

    @property
    def programs(self) -> list[str]:
        """The texts of the runs that are shown."""
        return [text_in(run, "code") for run, _ in self.with_outputs]

    def values(self, state: State) -> dict[str, Any]:
        """The values of the template of the request."""
        ids = [run["id"] for run, _ in reversed(self.with_outputs) if run is not self.verified]
        order = sorted(ids, key=lambda run: run not in self.quoted_ids)  # the latest of each first
        ranks = {run: number for number, run in enumerate(order, RUNS)}
        record = verification_of(state)
        if self.verified is not None:
            ranks[self.verified["id"]] = VERIFICATION
        sections = {
            run["id"]: self._section(run, outputs, ranks[run["id"]])
            for run, outputs in self.with_outputs
        }
        return {
            "verified": record,
            "verification_lines": verification_lines(record) if record else [],
            "verification_run": sections.pop(self.verified["id"]) if self.verified else None,
            "runs": list(sections.values()),
            "looks": [_one_line(run) for run in self.looks[-MOST_LISTED:]],
            "left_out": [self._ending(run) for run in self.left_out[-MOST_LISTED:]],
        }

    def _section(self, run: Run, outputs: Mapping[str, str], rank: int) -> Section:
        shown_in_full = run is self.verified or run["id"] in self.quoted_ids
        limit = OUTPUT_SHOWN if shown_in_full else OTHER_OUTPUT_SHOWN
        text = run_text(run, outputs, self.words, limit)
        if problem := problem_of(run):
            text = f"That is a failure: {problem}.\n\n{text}"
        return make_section(self._ending(run), text, rank)

    def _ending(self, run: Run) -> str:
        by = "" if run["by"] == "executor" else f", run by {run['by']}"
        ending = ending_of(run, self.ports.limits)
        return f"{run['id']}, revision {run['revision']}{by}{self._age(run)}: {ending}"

    def _age(self, run: Run) -> str:
        """A phrase for a run after which files have changed. Runs of older releases do not name
        their files."""
        delivered = self.ports.workspace.digest
        is_current = run.get("workspace", delivered) == delivered
        return "" if is_current else ", before the last change of files"


def _is_quoted(outputs: Mapping[str, str], words: Sequence[str]) -> bool:
    return any(quoted_lines(text, words) for text in outputs.values())


async def _outputs(run: Run, workspace: Workspace) -> dict[str, str]:
    """The complete outputs of a run, up to the limit of the sandbox."""
    outputs = {}
    for name in ("stdout", "stderr"):
        stream = run[name]
        text = text_in(run, name)
        if digest := stream.get("digest"):
            text = (await workspace.stored(digest)).decode(errors="replace")
        if dropped := stream["dropped_bytes"]:
            text = f"{text.rstrip()}\n[{dropped:,} bytes more were not kept]"
        outputs[name] = text
    return outputs


def _one_line(run: Run) -> str:
    return f"{run['id']} `{one_line(text_in(run, 'code'), COMMAND_SHOWN)}`"
