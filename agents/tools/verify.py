"""The tool `verify`: the command that shows that the work is done. It runs without a shell."""

from __future__ import annotations

import shlex
from typing import Annotated

from pydantic import BeforeValidator, Field

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.runs.program import Program
from agents.runs.pytest_runs import is_assignment, pytest_over
from agents.runs.record import EXECUTOR, run_and_keep
from agents.runs.report import program_answer
from agents.tools.call import Answer, Runtime, next_run
from agents.tools.trace import of_run

PASSED_SHOWN = 4_000
"""Characters of each output of a verification that passes: it may list all tests."""
_OPERATORS = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1"})


def _split(given: object) -> object:
    """A command line in place of a list, or as its only word: models write both."""
    line = given[0] if isinstance(given, list) and len(given) == 1 else given
    try:
        return shlex.split(line) if isinstance(line, str) else given
    except ValueError as error:
        raise ValueError(f"not a list of words: {error}") from None


Words = Annotated[list[str], BeforeValidator(_split), Field(max_length=64)]


async def verify(
    runtime: Runtime, command: Words | None = None, paths: Words | None = None
) -> Answer:
    """Run tests, or one program without a shell; exit code 0 passes. The last call is the evidence.

    Give one argument.

    Args:
        command: The program and its arguments, such as ["python", "check.py"].
        paths: Test files for pytest, such as ["test_app.py"].
    """
    ports: Ports = runtime.context
    program = Program.verify(_words(command or [], paths or []))
    number, revision = next_run(runtime), runtime.state["revision"]
    ran, seen = await run_and_keep(ports, program, number, revision, EXECUTOR)
    width = ports.bounds.output
    if seen.report is None and seen.passed:
        width = min(width, PASSED_SHOWN)
    text = program_answer(seen, ran.result, ran.run["refused"], ports.limits, width)
    return text, of_run(ran)


def _words(command: list[str], paths: list[str]) -> list[str]:
    """The argv. Raises ToolRefused with what to do instead."""
    if bool(command) == bool(paths):
        raise ToolRefused("give either a command or the paths of tests, not both")
    words = command or [*pytest_over(paths), *paths]
    if is_assignment(words[0]):
        words = ["env", *words]
    if not words[0] or any("\0" in word for word in words):
        raise ToolRefused("a command has a program as its first word, and no null characters")
    if operators := sorted(_OPERATORS.intersection(words)):
        raise ToolRefused(
            f"the command runs without a shell, so {' '.join(operators)} has no meaning: verify one"
            " program, or put the steps into a script that fails if one of them fails"
        )
    return words
