"""The tool `shell`: a command line in a fresh room."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.errors import ToolRefused
from agents.ports import Ports
from agents.runs import EXECUTOR, Program, in_room, recorded
from agents.telling import told
from agents.tools.call import Answer, Runtime, next_run
from agents.tools.trace import of_run

STRICT = ("bash", "-e", "-o", "pipefail", "-c")
"""The exit code is evidence: with these a step that fails is not covered up by the next one, nor
by the end of a pipe (`pytest | tail` where there is no pytest)."""

Seconds = Annotated[int | None, Field(ge=1, le=600)]


async def shell(command: str, runtime: Runtime, timeout_seconds: Seconds = None) -> Answer:
    """Run a command line with bash in the working directory; see what it prints.

    It stops at the first command that fails (-e -o pipefail); its exit code tells how it went. What
    hides that (`|| echo no`, `if`, `!`, `set +e`, `&`) shows nothing of the code it runs. There is
    no network and no keyboard, and nothing keeps running when it has ended. Files in the working
    directory stay; variables, the current directory and files elsewhere do not.

    Args:
        command: The command line; several lines are a script.
        timeout_seconds: Stop it after so many seconds. The sandbox's own limit holds all the same.
    """
    ports: Ports = runtime.context
    if "\0" in command:
        raise ToolRefused("a command line has no null characters; printf '\\0' writes one")
    number = next_run(runtime)
    seconds = None if timeout_seconds is None else float(timeout_seconds)
    program = Program("shell", command, (*STRICT, command), seconds=seconds)
    result = await in_room(ports, program)
    ran = await recorded(ports, program, result, number, runtime.state["revision"], EXECUTOR)
    limits = program.within(ports.limits)
    return told(result, ran.run["refused"], limits, ports.bounds.output), of_run(ran)
