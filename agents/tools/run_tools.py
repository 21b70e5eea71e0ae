"""The tools that run code, each call in a new sandbox: `python` runs a program, `shell` a command
line, `verify` the command that shows that the work is done."""

from __future__ import annotations

import shlex
from typing import Annotated

from pydantic import BeforeValidator, Field

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.runs.program import Program
from agents.runs.pytest_runs import is_assignment, pytest_over
from agents.runs.record import EXECUTOR, run_and_keep
from agents.runs.report import program_answer, run_report
from agents.tools.call import Answer, Runtime, next_run
from agents.tools.trace import of_run

PASSED_SHOWN = 4_000
"""Characters of each output of a verification that passes: it may list all tests."""
_OPERATORS = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1"})


def _split_line(argument: object) -> object:
    """The words of an argument. Models also write a command line instead of a list, or as the only
    word of a list."""
    line = argument[0] if isinstance(argument, list) and len(argument) == 1 else argument
    try:
        return shlex.split(line) if isinstance(line, str) else argument
    except ValueError as error:
        raise ValueError(f"not a list of words: {error}") from None


Words = Annotated[list[str], BeforeValidator(_split_line), Field(max_length=64)]
Seconds = Annotated[int | None, Field(ge=1, le=600)]


async def python(code: str, runtime: Runtime) -> Answer:
    """Run a throw-away Python program; see 16,000 characters of each output.

    Args:
        code: The complete program.
    """
    ports: Ports = runtime.context
    number, revision = next_run(runtime), runtime.state["request"].revision
    recorded, _ = await run_and_keep(ports, Program.python(code), number, revision, EXECUTOR)
    text = run_report(recorded.result, recorded.run["refused"], ports.limits, ports.bounds.output)
    return text, of_run(recorded)


async def shell(command: str, runtime: Runtime, timeout_seconds: Seconds = None) -> Answer:
    """Run any program with bash; see 16,000 characters of each output. A failing command ends it.

    Args:
        command: A command line, or a script.
    """
    ports: Ports = runtime.context
    program = command_line(command, None if timeout_seconds is None else float(timeout_seconds))
    number, revision = next_run(runtime), runtime.state["request"].revision
    recorded, result = await run_and_keep(ports, program, number, revision, EXECUTOR)
    limits, refused = program.within(ports.limits), recorded.run["refused"]
    text = run_report(recorded.result, refused, limits, ports.bounds.output, result.shell)
    return text, of_run(recorded)


def command_line(command: str, seconds: float | None = None) -> Program:
    """The program of a command line. Raises ToolRefused if it cannot be an argument of bash."""
    if "\0" in command:
        raise ToolRefused("a command line has no null characters; printf '\\0' writes one")
    return Program.shell(command, seconds)


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
    program = Program.verify(_choose_argv(command or [], paths or []))
    number, revision = next_run(runtime), runtime.state["request"].revision
    recorded, result = await run_and_keep(ports, program, number, revision, EXECUTOR)
    width = ports.bounds.output
    if result.report is None and result.passed:
        width = min(width, PASSED_SHOWN)
    text = program_answer(result, recorded.result, recorded.run["refused"], ports.limits, width)
    return text, of_run(recorded)


def _choose_argv(command: list[str], paths: list[str]) -> list[str]:
    """The words of the program. Raises ToolRefused with a remedy."""
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
