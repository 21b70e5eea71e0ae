"""The tester: writes the job's acceptance tests before there is any code, from the task alone.

On a repository, the tests belong to the change: `put_tests_into_project` puts them into the
project's own layout after each pass of the executor. The checks run with the tester's version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from langchain_core.messages import SystemMessage, ToolMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agents.attempt import Ports
from agents.calls.call_key import call_key, digest
from agents.calls.journal import finished_call, journaled
from agents.calls.structured_call import ask_role
from agents.checks.copied_files import without_clashes
from agents.checks.judge import judge_work
from agents.checks.reports import Test
from agents.checks.tester_tests import (
    Dropped,
    UsefulTests,
    select_useful,
    unwritten_modules,
    usable_files,
)
from agents.failures.workspace_change import change
from agents.ports import CallKey, Event, Finished
from agents.ports.checks import Checks
from agents.prompts import described, render, task_prompt
from agents.runs.project_tests import BESIDE, SuiteLayout
from agents.runs.pytest_runs import words_of_pytest
from agents.runs.sources import is_source
from agents.sandbox_programs import pth_line
from agents.state import ArtifactFields, State
from agents.tools.trace import of_use

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
    solution, or that cannot be run, shows nothing and is dropped. A project with tests in another
    language gets no tests, and the event has the reason."""
    ports = runtime.context
    useful, interface, note = UsefulTests({}, (), ()), "", _other_language(ports)
    if not note:
        useful, interface, note = await _write_tests(state, runtime)
    data = {**useful.event_data(), "interface": interface, "note": note}
    at = call_key(runtime.execution_info)
    await ports.events.emit(Event(at, "tests_written", data))
    return {"tests": dict(useful.files), "interface": interface}


async def _write_tests(state: State, runtime: Runtime[Ports]) -> tuple[UsefulTests, str, str]:
    """The useful tests, the interface that they expect, and a note for people."""
    ports = runtime.context
    request = task_prompt("tester/task", state, ports.repository)
    system = render(
        "tester/system",
        most=MAX_FILES,
        environment=described(ports.environment),
        repository=ports.repository,
    )
    messages = [SystemMessage(system), request.message()]
    answer = await ask_role(runtime, TESTER, messages, Tests)
    if answer.value is None:
        note = f"the tester's reply could not be read: {answer.error}"
        return UsefulTests({}, (), ()), "", note
    files = {file.path: file.content for file in answer.value.files}
    useful = await _try_tests(runtime, files, answer.value.interface)
    if useful.files:
        return useful, answer.value.interface, ""
    return useful, "", "none of the tester's tests is usable: the job continues without tests"


def _other_language(ports: Ports) -> str:
    """The reason if the tests of the job's project are not for pytest; empty if they may be."""
    if ports.repository is None or words_of_pytest(ports.repository.verify):
        return ""
    consequence = "the tester writes tests for pytest only, and the job continues without tests"
    command = ports.repository.verify
    if command[:1] in {("npm",), ("cargo",), ("go",)}:
        return f"`{' '.join(command)}` runs the project's tests: {consequence}"
    sources = [path for path in ports.workspace.list() if is_source(path)]
    if sources and not any(path.endswith(".py") for path in sources):
        return f"the project has no Python files: {consequence}"
    return ""


async def put_tests_into_project(state: State, ports: Ports, at: CallKey) -> list[ArtifactFields]:
    """Put the tester's tests into the project of a repository in place of all other versions, and
    of entries in their way, so that the change has the tests that are checked. Returns the written
    files. Journaled."""
    tests = state.get("tests")
    if ports.repository is None or not tests:
        return []
    workspace = ports.workspace

    async def put() -> tuple[ToolMessage, Finished]:
        before = {path: await workspace.read(path) for path in tests}
        files = {path: text.encode() for path, text in tests.items()}
        written = {path: content for path, content in files.items() if content != before[path]}
        present = dict.fromkeys((*workspace.list(), *workspace.links()), "")
        in_the_way = present.keys() - without_clashes(present, written).keys()
        artifacts = await workspace.apply(written, frozenset(in_the_way - written.keys()))
        uses = [
            of_use(
                "write_file",
                artifact.name,
                ok=True,
                artifacts=[artifact],
                diff=change({artifact.name: before[artifact.name]}, {artifact.name: content}).diff,
            )
            for artifact, content in zip(artifacts, written.values(), strict=True)
        ]
        events = [
            Event(replace(at, ordinal=number), use["kind"], {**use["data"], "by": TESTER})
            for number, use in enumerate(uses)
        ]
        fields = [artifact.fields() for artifact in artifacts]
        message = ToolMessage("", tool_call_id="tests", artifact=fields)
        return message, finished_call(message, events=events, workspace=workspace.digest)

    fields: list[ArtifactFields] = (
        await journaled(ports, at.key(digest("tests", dict(tests))), put)
    ).artifact
    return fields


async def _try_tests(
    runtime: Runtime[Ports], files: Mapping[str, str], interface: str
) -> UsefulTests:
    """Run the tests over the job's first files and a solution in which each call fails.
    Journaled."""
    ports = runtime.context
    at = call_key(runtime.execution_info, TRIAL_OFFSET)
    workspace, facts = ports.workspace, ports.repository
    layout = SuiteLayout(facts.test_directories, facts.test_names) if facts else BESIDE
    paths = {*workspace.list(), *(ports.checks.files if ports.checks and facts else ())}
    usable, dropped = usable_files(files, paths, layout)
    if facts:
        usable, refused = _writable(usable, ports)
        dropped = (*dropped, *refused)
    if not usable:
        return UsefulTests({}, (), dropped)

    async def try_once() -> tuple[ToolMessage, Finished]:
        modules = unwritten_modules(usable, interface, workspace.list(), replace=facts is None)
        site = {"unwritten.pth": f"{pth_line('unwritten', MODULES=modules)}\n".encode()}
        report = await judge_work(ports, Checks(usable), await workspace.tree(), site=site)
        trial = {"tests": [asdict(test) for test in report.tests], "problem": report.problem}
        message = ToolMessage("", tool_call_id="trial", artifact=trial)
        return message, finished_call(message)

    trial = (await journaled(ports, at.key(digest("trial", usable)), try_once)).artifact
    tests = [Test(**test) for test in trial["tests"]]
    return select_useful(usable, tests, trial["problem"], dropped)


def _writable(files: Mapping[str, str], ports: Ports) -> tuple[dict[str, str], list[Dropped]]:
    """The files that the workspace of a repository can take, and the others with the reasons."""
    writable: dict[str, str] = {}
    refused: list[Dropped] = []
    for path, text in files.items():
        size = {path: len(text.encode())}
        reason = ports.write_objection(size)
        if reason is None:
            writable[path] = text
        else:
            refused.append((path, reason))
    return writable, refused
