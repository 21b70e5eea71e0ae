"""A path of repair: what the models say, and where the job must end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.provider import Refusal, Reply, Tokens, ToolCall, Turn

PLAN = Reply(tool_calls=(ToolCall("Plan", {"steps": ["Write it.", "Run it.", "Check it."]}),))
DOWN = Refusal(503)
REFUSED = Refusal(401)


@dataclass(frozen=True, slots=True)
class Path:
    """A job, by what the models say in turn. `end` and `repairs` are what must come of it.

    `repairs`: of each verification that passed after one that failed, the level of the model that
    was at work. `broken` numbers the sandbox's runs, from 1, that its own trouble ends; `job` are
    fields of JobInput, `bounds` of Bounds, `limits` of Limits. `stronger`: there is a model to
    escalate to. `checks` are the files of its acceptance checks, `decisions` those of Ada, who is
    asked where there are any, `files` some that must be handed back, with their content.
    """

    name: str
    turns: tuple[Turn, ...]
    end: str
    repairs: tuple[int, ...] = ()
    stronger: bool = False
    broken: frozenset[int] = frozenset()
    most_tokens: int | None = None
    job: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)
    decisions: tuple[Mapping[str, Any], ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


def runs(code: str) -> Reply:
    """The executor runs a program."""
    return Reply(tool_calls=(ToolCall("python", {"code": code}),))


def verifies(code: str) -> Reply:
    """The executor verifies the work by a program."""
    return verifies_by("python", "-c", code)


def verifies_by(*words: str) -> Reply:
    """The executor verifies the work by a command."""
    return Reply(tool_calls=(ToolCall("verify", {"command": list(words)}),))


def looks(line: str = "ls") -> Reply:
    """The executor looks around."""
    return Reply(tool_calls=(ToolCall("shell", {"command": line}),))


def writes(content: str, path: str = "sums.py") -> Reply:
    """The executor writes a file."""
    return Reply(tool_calls=(ToolCall("write_file", {"path": path, "content": content}),))


def edits(old: str, new: str, path: str = "sums.py") -> Reply:
    """The executor edits a file."""
    args = {"path": path, "old_text": old, "new_text": new}
    return Reply(tool_calls=(ToolCall("edit_file", args),))


def decides(action: str, **more: Any) -> Mapping[str, Any]:
    """Ada decides."""
    return {"action": action, "by": "Ada", **more}


def costly(reply: Reply) -> Reply:
    """A reply that uses nearly all of a budget of 100,000 tokens."""
    return replace(reply, tokens=Tokens(10, 99_000))


def approve(**more: Any) -> Reply:
    """The critic approves."""
    return Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", **more}),))


def revise(feedback: str, **more: Any) -> Reply:
    """The critic sends it back."""
    said = {"verdict": "revise", "feedback": feedback, **more}
    return Reply(tool_calls=(ToolCall("Verdict", said),))
