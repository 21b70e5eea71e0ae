"""The tester: writes the job's acceptance tests before there is any code, from the task alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import SystemMessage, ToolMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agents.attempt import Ports
from agents.calls.call_key import call_key, digest
from agents.calls.journal import finished_call, journaled
from agents.calls.structured_call import ask_role
from agents.checks.judge import judge
from agents.checks.vacuous_tests import (
    UsefulTests,
    drop_vacuous_tests,
    empty_solution,
    failing_solution,
    passed_in,
    usable_files,
)
from agents.ports import Event, Finished
from agents.ports.checks import Checks
from agents.prompts import described, render, task_prompt
from agents.state import State
from agents.tree import Tree

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
    """Write tests, and run them before any work is done. A test that passes without a call of the
    solution, or that cannot be collected, shows nothing and is dropped.
    """
    ports = runtime.context
    request = task_prompt("task", state, ports.repository)
    system = render("tester/system", most=MAX_FILES, environment=described(ports.environment))
    messages = [SystemMessage(system), request.message()]
    answer = await ask_role(runtime, TESTER, messages, Tests)
    if answer.value is None:
        note = f"the tester's reply could not be read: {answer.error}"
        kept = UsefulTests({}, (), ())
    else:
        files = {each.path: each.content for each in answer.value.files}
        kept = await _tried(runtime, files, answer.value.interface)
        note = (
            ""
            if kept.files
            else "none of the tester's tests is usable: the job continues without tests"
        )
    interface = answer.value.interface if answer.value and kept.files else ""
    data = {**kept.event_data(), "interface": interface, "note": note}
    at = call_key(runtime.execution_info)
    await ports.events.emit(Event(at, "tests_written", data))
    return {"tests": dict(kept.files), "interface": interface}


async def _tried(runtime: Runtime[Ports], files: dict[str, str], interface: str) -> UsefulTests:
    """Run the tests over the job's first files and an empty solution; those that pass, once more
    over a solution whose calls fail. Journaled."""
    ports = runtime.context
    at = call_key(runtime.execution_info, TRIAL_OFFSET)
    fit, unfit = usable_files(files, ports.workspace.list())
    if not fit:
        return UsefulTests({}, (), unfit)

    async def make() -> tuple[ToolMessage, Finished]:
        tree = await ports.workspace.tree()
        empty = empty_solution(fit, interface, tree.files)
        tried, failing = await _trial(ports, tree, fit, empty), list[list[str]]()
        if passed_in(tried):
            solution = failing_solution(fit, empty, tree.files)
            failing = await _trial(ports, tree, fit, solution)
        message = ToolMessage("", tool_call_id="trial", artifact=[tried, failing])
        return message, finished_call(message)

    tried, failing = (await journaled(ports, at.key(digest("trials", fit)), make)).artifact
    return drop_vacuous_tests(fit, tried, failing, unfit)


async def _trial(
    ports: Ports, tree: Tree, tests: Mapping[str, str], solution: Mapping[str, bytes]
) -> list[list[str]]:
    """[id, outcome, detail] of each test with this solution."""
    files = {**tree.files, **solution}
    links = {path: target for path, target in tree.links.items() if path not in files}
    report = await judge(ports.sandbox, files, Checks(tests), ports.limits, links)
    return [[test.id, test.outcome, test.detail] for test in report.tests]
