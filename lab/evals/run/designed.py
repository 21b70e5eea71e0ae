"""A model server with known pass rates, to check the evaluation itself.

    python -m lab.evals.run.designed humaneval --data HumanEval.jsonl.gz

It answers like a model of one of these kinds:

    right      right at once
    repairs    wrong at first, so that its own run fails; right after the failure
    never      wrong at first, so that its own run fails, and wrong after the failure
    plausible  wrong, but its own run succeeds: only the hidden tests fail

The exercise at place n of the set (from 0) has the kind PATTERN[n % len(PATTERN)]. So the first
attempts pass for `right`, and the final results, with repair, for `right` and `repairs`.
"""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from lab.evals.sources import sets
from lab.evals.sources.exercise import Exercise
from lab.provider import ProviderServer, Refusal, Reply, Request, Tokens, ToolCall, Turn

Kind = Literal["right", "repairs", "never", "plausible"]

PATTERN: Sequence[Kind] = ("right", "repairs", "right", "never", "right", "repairs", "plausible")
FAULT = "\n\nprint(total_that_nobody_defined)\n"
CHECK = ["python", "-c", "import solution; print('imported', solution.__name__)"]
FAILED = "NameError"
STEPS = ["Write the solution into solution.py.", "Verify that it can be imported.", "Fix it."]


@dataclass(frozen=True, slots=True)
class Design:
    """The kind of each exercise."""

    exercises: Sequence[Exercise]
    pattern: Sequence[Kind] = PATTERN

    def kind(self, exercise: Exercise) -> Kind:
        """The model's kind at this exercise."""
        return self.pattern[self.exercises.index(exercise) % len(self.pattern)]

    @property
    def counts(self) -> dict[Kind, int]:
        """The number of exercises of each kind."""
        return dict(Counter(map(self.kind, self.exercises)))

    @property
    def first(self) -> int:
        """The number of first attempts that pass; without repair, of final results."""
        return self.counts.get("right", 0)

    @property
    def final(self) -> int:
        """The number of final results that pass with repair."""
        return self.first + self.counts.get("repairs", 0)

    def answer(self, request: Request) -> Turn:
        """The script of the server."""
        if request.forced_tool is not None:
            return _structured(request)
        prompt = "\n".join(message.text for message in request.messages)
        exercise = self._find_exercise(prompt)
        if exercise is None:
            return Refusal(400, f"no exercise matches: {prompt[:200]}")
        return _executor(request, exercise, self.kind(exercise))

    def _find_exercise(self, prompt: str) -> Exercise | None:
        """The exercise with a task that the request contains; the longest one if several match."""
        matches = [exercise for exercise in self.exercises if exercise.task.strip() in prompt]
        return max(matches, key=lambda each: len(each.task), default=None)


def _structured(request: Request) -> Turn:
    """A plan, a verdict on the last run, or a score."""
    if request.forced_tool == "Plan":
        return _call("Plan", {"steps": STEPS})
    if request.forced_tool == "Verdict":
        failed = FAILED in request.last_text.rpartition("\n=== r")[2]
        verdict = {"verdict": "revise" if failed else "approve", "feedback": "It does not run."}
        return _call("Verdict", verdict if failed else {**verdict, "feedback": ""})
    if request.forced_tool == "Score":
        return _call("Score", {"score": 2, "reason": "It is what it was designed to be."})
    return Refusal(400, f"no answer is designed for {request.forced_tool}")


def _executor(request: Request, exercise: Exercise, kind: Kind) -> Turn:
    """Write, verify, repeat both after a failure, then answer."""
    writes = sum(call.name == "write_file" for call in _calls(request))
    verified = sum(call.name == "verify" for call in _calls(request))
    if writes > verified:
        return _call("verify", {"command": CHECK})
    failed = FAILED in request.last_text
    if failed and kind == "never" and writes % 2 == 0:
        return _reply("I could not make it work.")
    if writes == 0 or failed or request.messages[-1].speaker == "user":
        right = kind == "right" or (kind == "repairs" and writes > 0)
        return _call(
            "write_file", {"path": exercise.solution, "content": _code(exercise, kind, right=right)}
        )
    return _reply("It is in solution.py, and can be imported.")


def _code(exercise: Exercise, kind: Kind, *, right: bool) -> str:
    """The solution file; the plausible solution runs, but is wrong."""
    assert exercise.right is not None
    code = exercise.right[exercise.solution]
    if right:
        return code
    if kind == "plausible":
        return _hollow(exercise, code)
    return code + FAULT


def _hollow(exercise: Exercise, code: str) -> str:
    """The shipped wrong solution, else the right one with functions that all return None."""
    if exercise.wrong is not None:
        return exercise.wrong[exercise.solution]
    emptied = "\nfor _name, _value in list(globals().items()):\n    if callable(_value):\n"
    return code + emptied + "        globals()[_name] = lambda *a, **k: None\n"


def _calls(request: Request) -> list[ToolCall]:
    return [call for message in request.messages for call in message.tool_calls]


def _call(name: str, args: dict[str, Any]) -> Reply:
    return Reply(tool_calls=(ToolCall(name, args),), tokens=Tokens(200, 80))


def _reply(text: str) -> Reply:
    return Reply(text, tokens=Tokens(200, 20))


@click.command()
@click.argument("name", metavar="SET|FILE.jsonl")
@click.option("--data", type=click.Path(exists=True, path_type=Path))
@click.option("--port", default=0, help="0 takes a free one.")
def main(name: str, data: Path | None, port: int) -> None:
    """Serve until SIGINT or SIGTERM; the first line of stdout is JSON: address, designed counts."""
    of = sets.load(name, data, Path.cwd())
    design = Design(of.exercises)
    with ProviderServer(design.answer, port=port, remembers=False) as server:
        announced = {
            "groq": server.groq_url,
            "openai": server.openai_url,
            "exercises": len(of.exercises),
            "first": design.first,
            "final": design.final,
            "kinds": design.counts,
        }
        sys.stdout.write(json.dumps(announced) + "\n")
        sys.stdout.flush()
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main()
