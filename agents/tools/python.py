"""The tool `python`: a program in a new sandbox."""

from __future__ import annotations

from agents.attempt import Ports
from agents.runs.program import Program
from agents.runs.record import EXECUTOR, run_and_keep
from agents.runs.report import run_report
from agents.tools.call import Answer, Runtime, next_run
from agents.tools.trace import of_run


async def python(code: str, runtime: Runtime) -> Answer:
    """Run a throw-away Python program; see 16,000 characters of each output.

    Args:
        code: The complete program.
    """
    ports: Ports = runtime.context
    number, revision = next_run(runtime), runtime.state["revision"]
    ran, _ = await run_and_keep(ports, Program.python(code), number, revision, EXECUTOR)
    text = run_report(ran.result, ran.run["refused"], ports.limits, ports.bounds.output)
    return text, of_run(ran)
