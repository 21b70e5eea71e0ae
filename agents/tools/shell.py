"""The tool `shell`: a command line in a new sandbox."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.runs.program import Program
from agents.runs.record import EXECUTOR, run_and_keep
from agents.runs.report import run_report
from agents.tools.call import Answer, Runtime, next_run
from agents.tools.trace import of_run

Seconds = Annotated[int | None, Field(ge=1, le=600)]


async def shell(command: str, runtime: Runtime, timeout_seconds: Seconds = None) -> Answer:
    """Run any program with bash; see 16,000 characters of each output. A failing command ends it.

    Args:
        command: A command line, or a script.
    """
    ports: Ports = runtime.context
    program = command_line(command, None if timeout_seconds is None else float(timeout_seconds))
    number, revision = next_run(runtime), runtime.state["revision"]
    ran, seen = await run_and_keep(ports, program, number, revision, EXECUTOR)
    limits, refused = program.within(ports.limits), ran.run["refused"]
    return run_report(ran.result, refused, limits, ports.bounds.output, seen.shell), of_run(ran)


def command_line(command: str, seconds: float | None = None) -> Program:
    """The program of a command line. Raises ToolRefused if bash cannot get it as an argument."""
    if "\0" in command:
        raise ToolRefused("a command line has no null characters; printf '\\0' writes one")
    return Program.shell(command, seconds)
