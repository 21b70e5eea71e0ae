"""The tester: writes the job's acceptance tests before there is any code, from the task alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from langchain_core.messages import SystemMessage, ToolMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agents.attempt import Ports
from agents.calls.call_key import call_key, digest
from agents.calls.journal import finished_call, journaled
from agents.calls.structured_call import ask_role
from agents.checks.judge import judge_work
from agents.checks.reports import Test
from agents.checks.tester_tests import (
    UsefulTests,
    failing_solution,
    select_useful,
    usable_files,
)
from agents.ports import Event, Finished
from agents.ports.checks import Checks
from agents.prompts import described, render, task_prompt
from agents.state import State

TESTER: Final = "tester"
MAX_FILES = 3
FILE_CHARACTERS = 20_000
TRIAL_OFFSET = 10
"""Ordinal of the trial's call key; the model calls have lower ones."""


class TestFile(BaseModel):
    """One file of tests."""

    path: str = Field(description="test_NAME.py")
    content: str = Field(max_length=FILE_CHARACTERS, description="the complete file, for pytest")


class Tests(BaseModel):
    """Tests that every correct solution of the task passes, and an empty one fails."""

    interface: str = Field(
        description="what the tests expect: each file name, function and signature"
    )
    files: list[TestFile] = Field(min_length=1, max_length=MAX_FILES)


async def tester(state: State, runtime: Runtime[Ports]) -> dict[str, Any]:
    """Write tests, and try them before any work is done. A test that passes without a call of the
    solution, or that cannot be run, shows nothing and is dropped."""
    ports = runtime.context
    request = task_prompt("task", state, ports.repository)
    system = render("tester/system", most=MAX_FILES, environment=described(ports.environment))
    messages = [SystemMessage(system), request.message()]
    answer = await ask_role(runtime, TESTER, messages, Tests)
    note = ""
    if answer.value is None:
        note = f"the tester's reply could not be read: {answer.error}"
        useful = UsefulTests({}, (), ())
    else:
        files = {file.path: file.content for file in answer.value.files}
        useful = await _try_tests(runtime, files, answer.value.interface)
        if not useful.files:
            note = "none of the tester's tests is usable: the job continues without tests"
    interface = answer.value.interface if answer.value and useful.files else ""
    data = {**useful.event_data(), "interface": interface, "note": note}
    at = call_key(runtime.execution_info)
    await ports.events.emit(Event(at, "tests_written", data))
    return {"tests": dict(useful.files), "interface": interface}


async def _try_tests(
    runtime: Runtime[Ports], files: Mapping[str, str], interface: str
) -> UsefulTests:
    """Run the tests over the job's first files and a solution in which each call fails.
    Journaled."""
    ports = runtime.context
    at = call_key(runtime.execution_info, TRIAL_OFFSET)
    usable, dropped = usable_files(files, ports.workspace.list())
    if not usable:
        return UsefulTests({}, (), dropped)

    async def try_once() -> tuple[ToolMessage, Finished]:
        tree = await ports.workspace.tree()
        tree = tree.over(failing_solution(usable, interface, tree.files))
        report = await judge_work(ports, Checks(usable), tree)
        trial = {"tests": [asdict(test) for test in report.tests], "problem": report.problem}
        message = ToolMessage("", tool_call_id="trial", artifact=trial)
        return message, finished_call(message)

    trial = (await journaled(ports, at.key(digest("trial", usable)), try_once)).artifact
    tests = [Test(**test) for test in trial["tests"]]
    return select_useful(usable, tests, trial["problem"], dropped)
