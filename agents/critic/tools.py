"""The critic's tools: they read the job's files and run programs over copies of them.

All tools but `run_again` have the executor's own code. Each call is made once, like the executor's
calls. No call changes the workspace, and no run is among the job's runs, so that no verification
can rest on it.

See ADR 82.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.prebuilt import ToolRuntime

from agents.attempt import Ports
from agents.calls.call_key import digest
from agents.calls.journal import finished_call, journaled
from agents.checks.judge import judge_work
from agents.checks.reports import checks_of
from agents.errors import ToolRefused
from agents.evidence.record import Verification
from agents.evidence.verdict import CRITIC, verification_of
from agents.evidence.verification import CHECKS
from agents.models.replies.structured import ToolSchema, tool_schema
from agents.ports import CallKey, Event, Finished
from agents.runs.program import Program, execute
from agents.runs.record import whole_program
from agents.runs.report import program_answer
from agents.state import State
from agents.texts import head_and_tail
from agents.tools.call import Answer, Runtime, argument_problem, refused
from agents.tools.file_tools import read_file
from agents.tools.git import git
from agents.tools.registry import Body, arguments_of, offered
from agents.tools.run_tools import command_line
from agents.tools.search import search
from agents.tools.trace import of_use

NAME = "run_again"


async def run_again(runtime: Runtime, command: str | None = None) -> Answer:
    """Run the verification again, or a command of yours with bash, over the current files.
    Files that it writes are dropped.

    Args:
        command: The command line; several lines are a script. Without it the verification runs.
    """
    ports: Ports = runtime.context
    state: State = runtime.state
    label, passed, text = await _run_again(command, state, ports)
    text = head_and_tail(text, ports.bounds.read)
    trace = of_use(NAME, None, ok=passed, note=head_and_tail(label, ports.bounds.inline_characters))
    trace["data"]["output"] = head_and_tail(text, ports.bounds.inline_characters)
    return text, trace


async def _run_again(command: str | None, state: State, ports: Ports) -> tuple[str, bool, str]:
    """The command or the name of the verification, whether it passes, and its report."""
    if command is not None:
        return command, *await _run(command_line(command), ports)
    verification = verification_of(state)
    if verification is not None and verification["source"] == "checks":
        return CHECKS, *await _checks(state, ports)
    program = await _verification_program(state, verification, ports)
    return program.text, *await _run(program, ports)


async def _verification_program(
    state: State, verification: Verification | None, ports: Ports
) -> Program:
    """The program of the run that the verification rests on. Raises ToolRefused if there is no such
    run."""
    runs = state.get("runs", [])
    run = next(
        (run for run in runs if verification is not None and run["id"] == verification["run"]), None
    )
    if run is None:
        raise ToolRefused("nothing has verified these files: give a command")
    text = (await whole_program(run, ports)).decode(errors="replace")
    return Program.again(run.get("tool", "python"), text)


async def _run(program: Program, ports: Ports) -> tuple[bool, str]:
    """Whether a program passes, and its report."""
    outcome = await execute(ports, program, await ports.workspace.tree())
    limits, width = program.within(ports.limits), ports.bounds.output
    return outcome.passed, program_answer(
        outcome, outcome.result, outcome.result.refused, limits, width
    )


async def _checks(state: State, ports: Ports) -> tuple[bool, str]:
    """Whether the acceptance checks pass, and each of them."""
    tree = await ports.workspace.tree()
    checks = checks_of(state, ports)
    report = await judge_work(ports, checks, tree)
    tests = [f"{test.outcome} {test.id}\n{test.detail}".rstrip() for test in report.tests]
    summary = "passed" if report.passed else f"not passed: {report.problem or 'see each test'}"
    return report.passed, "\n".join([summary, *tests])


TOOLS: tuple[Body, ...] = (read_file, search, git, run_again)
"""The tools, in the order in which the model sees them, after `Verdict`."""


def critic_tools(ports: Ports) -> Mapping[str, Body]:
    """The tools of a job's critic, by name. Empty if the operator allows no calls."""
    if not ports.bounds.critic_calls:
        return {}
    return {body.__name__: body for body in TOOLS if offered(body.__name__, ports)}


def schemas_of(tools: Mapping[str, Body]) -> Sequence[ToolSchema]:
    """The tools as requests have them."""
    return [tool_schema(arguments_of(body)) for body in tools.values()]


async def call_tool(
    call: ToolCall, reply: AIMessage, state: State, ports: Ports, at: CallKey
) -> ToolMessage:
    """The answer to one call of `reply`, made now or before a crash. `at` is the call's own key."""

    async def make() -> tuple[ToolMessage, Finished]:
        message = await _answer(call, reply, state, ports)
        trace = message.artifact
        event = Event(at, trace["kind"], {**trace["data"], "by": CRITIC})
        return message, finished_call(message, events=[event])

    return await journaled(ports, at.key(digest(call["name"], call["args"])), make)


async def _answer(call: ToolCall, reply: AIMessage, state: State, ports: Ports) -> ToolMessage:
    tools = critic_tools(ports)
    body = tools.get(call["name"])
    if body is None:
        return refused(call, f"there is no tool {call['name']}; use {', '.join(tools)}")
    arguments = arguments_of(body)
    if problem := argument_problem(call, arguments, reply):
        return refused(call, problem)
    parsed = arguments.model_validate(call["args"])
    values = {name: getattr(parsed, name) for name in arguments.model_fields}
    try:
        text, trace = await body(**values, runtime=_runtime(state, ports, call))
    except ToolRefused as error:
        return refused(call, str(error))
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], artifact=trace)


def _runtime(state: State, ports: Ports, call: ToolCall) -> ToolRuntime[Any, Any]:
    """The runtime of a tool's body outside LangChain's loop."""
    return ToolRuntime(
        state=cast("dict[str, Any]", state),
        context=ports,
        config={},
        stream_writer=lambda _: None,
        tool_call_id=call["id"],
        store=None,
    )
