"""The model's side of jobs, as tests write it. A turn matches by a part of the last message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Turn = dict[str, Any]


def turn(role: str, expect: str, reply: Mapping[str, Any], after: int | None = None) -> Turn:
    """A turn for a request with a last message that contains `expect`."""
    written = {"role": role, "expect": expect, "match": "contains", "reply": dict(reply)}
    return written if after is None else {**written, "after": after}


def calls(name: str, **args: Any) -> dict[str, Any]:
    """A reply that calls one tool."""
    return {"tool_calls": [{"name": name, "args": args}]}


def says(text: str) -> dict[str, Any]:
    """A reply of the executor in words."""
    return {"content": text}


def plans(task: str, *steps: str) -> Turn:
    """The planner's turn for a task."""
    planned = list(steps) or ["Write the code.", "Run it.", "Check what comes out."]
    return turn("planner", task, calls("Plan", steps=planned), after=0)


def runs(expect: str, code: str, after: int) -> Turn:
    """The executor runs code."""
    return turn("executor", expect, calls("python", code=code), after)


def answers(expect: str, text: str, after: int) -> Turn:
    """The executor ends its pass."""
    return turn("executor", expect, says(text), after)


def approves(run: str | None = "r1") -> Turn:
    """The critic approves every request."""
    return turn("critic", "", calls("Verdict", verdict="approve", feedback="", run=run))


def one_run(
    task: str, code: str, *, result_text: str = "exit code 0", answer: str = "done"
) -> list[Turn]:
    """A complete job: plan, one run with `result_text` in its result, an answer, an approval."""
    return [plans(task), runs(task, code, 0), answers(result_text, answer, 1), approves()]
