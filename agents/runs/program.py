"""A program, and one run of it in a fresh sandbox."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agents.ports import Ports
from agents.runs.installed import found_first, with_packages, with_setup
from agents.runs.pytest_report import FILE, Report, report_in, why_failed
from agents.tools.inside import source
from agents.tree import Tree
from sandbox.protocol import Command, Limits, RunResult

VERIFY: Final = "verify"
"""The tool of a verification."""
STRICT = ("bash", "-e", "-o", "pipefail", "-c")
"""A failing command ends a command line, also in the middle of a pipe."""
_NOTHING: Final = "there was nothing to run"
_CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"})


@dataclass(frozen=True, slots=True)
class Program:
    """What a run executes: the `tool`, the `text` that people read, and the argv for the sandbox.

    `seconds` is its time limit, if that is below the job's. `tests`: it runs pytest, and reports
    each test.
    """

    tool: str
    text: str
    argv: tuple[str, ...]
    stdin: bytes = b""
    seconds: float | None = None
    tests: bool = False

    @classmethod
    def python(cls, code: str) -> Program:
        """`code` as `sandbox.protocol.Command.python` has it."""
        return cls("python", code, Command.python(code).argv)

    @classmethod
    def shell(cls, command: str, seconds: float | None = None) -> Program:
        """`command` as bash runs it."""
        return cls("shell", command, (*STRICT, command), seconds=seconds)

    @classmethod
    def verify(cls, words: Sequence[str]) -> Program:
        """An argv without a shell. `shlex.split` turns its text into the argv again."""
        text, tests = shlex.join(words), _of_pytest(words)
        if tests is None:
            return cls(VERIFY, text, tuple(words))
        asked = json.dumps({"words": tests}).encode()
        argv = Command.python(source("testing")).argv
        return cls(VERIFY, text, argv, stdin=asked, tests=True)

    @classmethod
    def again(cls, tool: str, text: str) -> Program:
        """The program of a recorded run."""
        match tool:
            case "shell":
                return cls.shell(text)
            case "python":
                return cls.python(text)
            case _:
                return cls.verify(shlex.split(text))

    @property
    def empty(self) -> bool:
        """Whether it has only blank lines and comments: such a run shows nothing."""
        lines = map(str.strip, self.text.splitlines())
        return all(not line or line.startswith("#") for line in lines)

    def within(self, limits: Limits) -> Limits:
        """The job's `limits`, with this program's time limit."""
        if self.seconds is None:
            return limits
        return replace(limits, wall_seconds=min(limits.wall_seconds, self.seconds))


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What a program did. `problem` says why it failed, also if its exit code is 0."""

    result: RunResult
    problem: str | None = None
    report: Report | None = None

    @property
    def passed(self) -> bool:
        """Whether it exited with 0 and no test says otherwise."""
        return self.result.succeeded and self.problem is None


async def execute(ports: Ports, program: Program, tree: Tree) -> ProgramResult:
    """Run it in a new sandbox over `tree` with the installed packages; nothing is stored.

    Raises what the sandbox raises: an infrastructure error is not the program's failure.
    """
    command = placed(program, tree)
    result = await ports.sandbox.run(command, program.within(ports.limits))
    changed = {path: data for path, data in result.changed.items() if not _is_cache(path)}
    report = report_in(changed) if program.tests else None
    changed.pop(FILE, None)
    result = replace(result, changed=changed, deleted=result.deleted - {FILE})
    problem = _NOTHING if program.empty else None
    return ProgramResult(result, why_failed(report, result) if report else problem, report)


def placed(program: Program, tree: Tree) -> Command:
    """The program's command over `tree`, with all that is installed for it."""
    files = with_packages(tree.files)
    if not tree.installed:
        return replace(tree, files=files).command(program.argv, program.stdin)
    whole = replace(tree, files=with_setup(files), layers=(*tree.installed, *tree.layers))
    return whole.command(found_first(program.argv), program.stdin)


def _is_cache(path: str) -> bool:
    """Whether a file is a cache that a program keeps, and so not the job's work."""
    return not _CACHES.isdisjoint(path.split("/"))


def _of_pytest(words: Sequence[str]) -> list[str] | None:
    """pytest's own arguments; None for another program."""
    if words and words[0] == "pytest":
        return list(words[1:])
    if len(words) > 2 and words[0] in {"python", "python3"} and [*words[1:3]] == ["-m", "pytest"]:
        return list(words[3:])
    return None
