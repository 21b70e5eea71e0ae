"""A path of repair: the models' replies, and the expected end of the job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lab.provider import Refusal, Reply, Tokens, ToolCall, Turn

PLAN = Reply(tool_calls=(ToolCall("Plan", {"steps": ["Write it.", "Run it.", "Check it."]}),))
DOWN = Refusal(503)
NO_KEY = Refusal(401)
REFUSED = Refusal(400)
RETRIES = 3
"""The retries of a walk: more retries would show no other behaviour."""


@dataclass(frozen=True, slots=True)
class Path:
    """A job with the models' replies, `turns`; `end` and `repairs` are the expected outcome.

    `repairs` has the model's level for each verification that passes after a failed one. `broken`
    are the numbers, from 1, of the runs in which the sandbox itself fails. `job` are fields of
    JobFields, `bounds` of Bounds, `limits` of Limits. `stronger`: there is a model to escalate to.
    `checks` are the files of its acceptance checks, `decisions` those of the reviewer Ada, `files`
    some of the expected files, with their content.
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
    """The executor verifies the work with a program."""
    return verifies_by("python", "-c", code)


def verifies_by(*words: str) -> Reply:
    """The executor verifies the work with a command."""
    return Reply(tool_calls=(ToolCall("verify", {"command": list(words)}),))


def repairs_by(code: str) -> Reply:
    """The executor writes a program, and verifies it."""
    write = ToolCall("write_file", {"path": "total.py", "content": code})
    return Reply(tool_calls=(write, ToolCall("verify", {"command": ["python", "total.py"]})))


def looks(line: str = "ls") -> Reply:
    """The executor calls `shell` to look around."""
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
    """The critic requests a revision."""
    verdict = {"verdict": "revise", "feedback": feedback, **more}
    return Reply(tool_calls=(ToolCall("Verdict", verdict),))


GOOD = "total = 1 + 2\nassert total == 3\nprint('ok')"
KEY = "total = {'a': 1}['b']"
INDEX = "total = [1][1]"
KIND = "total = 1 + '2'"
OTHER_KEY = "rate = 2\ntotal = {'a': 1}['b']"
"""Fails as KEY does, one line further down."""
TEXT = "total = int('x')"
CHECK = "from sums import add\nassert add(1, 2) == 3\nprint('ok')"
TEST = "from sums import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
ENDLESS = "total = 0\nwhile True:\n    total += 1"
HUNGRY = "total = bytearray(2 * 1024 ** 3)\ntotal[::4096] = bytes([1]) * len(total[::4096])"
DONE = Reply("It adds.")
UNREADABLE = (Reply("Fine."), Reply("I said: fine."))
CIRCLE = (verifies(KEY),) * 4
EXPLORATION = (
    *(looks(f"grep {word} .") for word in "abcd"),
    *(runs(f"# {number}\n{KEY}") for number in range(4)),
)
"""Runs that fail, often in the same way, without a change of files."""
