"""The tool `run_again`: runs the verification again, or a command of the critic's own.

It leaves the workspace unchanged. The run is not among the job's runs, so that no verification can
rest on it.
"""

from __future__ import annotations

from agents.attempt import Ports
from agents.checks.check_reports import checks_of
from agents.checks.judge import judge
from agents.errors import ToolRefused
from agents.evidence.record import Verification
from agents.evidence.verdict import verification_of
from agents.evidence.verification import CHECKS
from agents.runs.program import Program, execute
from agents.runs.record import whole_program
from agents.runs.report import program_answer
from agents.state import State
from agents.texts import head_and_tail
from agents.tools.call import Answer, Runtime
from agents.tools.run_tools import command_line
from agents.tools.trace import of_use

NAME = "run_again"


async def run_again(runtime: Runtime, command: str | None = None) -> Answer:
    """Run the verification again, or a command of yours with bash, over the files as they are now.
    Nothing that it writes is kept.

    Args:
        command: The command line; several lines are a script. Without it the verification runs.
    """
    ports: Ports = runtime.context
    state: State = runtime.state
    label, passed, text = await _repeated(command, state, ports)
    text = head_and_tail(text, ports.bounds.read)
    trace = of_use(NAME, None, ok=passed, note=head_and_tail(label, ports.bounds.kept))
    trace["data"]["output"] = head_and_tail(text, ports.bounds.kept)
    return text, trace


async def _repeated(command: str | None, state: State, ports: Ports) -> tuple[str, bool, str]:
    """The command or the name of the verification, whether it passes, and its report."""
    if command is not None:
        return command, *await _run(command_line(command), ports)
    found = verification_of(state)
    if found is not None and found["source"] == "checks":
        return CHECKS, *await _checks(state, ports)
    program = await _verification(state, found, ports)
    return program.text, *await _run(program, ports)


async def _verification(state: State, found: Verification | None, ports: Ports) -> Program:
    """The program of the run that the verification rests on. Raises ToolRefused without one."""
    runs = state.get("runs", [])
    run = next((run for run in runs if found is not None and run["id"] == found["run"]), None)
    if run is None:
        raise ToolRefused("nothing has verified these files: give a command")
    text = (await whole_program(run, ports)).decode(errors="replace")
    return Program.again(run.get("tool", "python"), text)


async def _run(program: Program, ports: Ports) -> tuple[bool, str]:
    """Whether a program passes, and its report."""
    seen = await execute(ports, program, await ports.workspace.tree())
    limits, width = program.within(ports.limits), ports.bounds.output
    return seen.passed, program_answer(seen, seen.result, seen.result.refused, limits, width)


async def _checks(state: State, ports: Ports) -> tuple[bool, str]:
    """Whether the acceptance checks pass, and each of them."""
    tree = await ports.workspace.tree()
    checks = checks_of(state, ports)
    report = await judge(ports.sandbox, tree.files, checks, ports.limits, tree.links)
    tests = [f"{test.outcome} {test.id}\n{test.detail}".rstrip() for test in report.tests]
    summary = "passed" if report.passed else f"not passed: {report.problem or 'see each test'}"
    return report.passed, "\n".join([summary, *tests])
