"""Which run proves a pass's last changes, and what it is given."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents.proving import again, unproven_run
from agents.tools.run_tests import _program, run_tests
from agents.tools.trace import of_use


def ran(number: int, tool: str, text: str, *, ok: bool = True, **more: Any) -> Any:
    """The trace of a run."""
    why = None if ok else {"class": "test_failure", "cause": "1 of 1 failed", "exception": None}
    data = {"id": f"r{number}", "tool": tool, "code": {"text": text}, "succeeded": ok}
    return {"kind": "run_finished", "data": {**data, "failure": why}, "files": [], **more}


RUN = ran(1, "run_tests", "pytest")


def called(tool: str, args: dict[str, Any], call_id: str = "c") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": args, "id": call_id}])


def answer(trace: Any, *, ok: bool = True, call_id: str = "c") -> ToolMessage:
    status: Any = "success" if ok else "error"
    return ToolMessage("", tool_call_id=call_id, artifact=trace, status=status)


@pytest.mark.parametrize(
    ("paths", "keyword"),
    [([], ""), (["test_a.py"], ""), (["test_a.py::test_x[a b]", "tests"], "x and not 'y z'")],
)
def test_tests_are_run_again_as_they_were_asked_for(paths: list[str], keyword: str) -> None:
    program = _program(paths, keyword).text
    body, args = again(ran(1, "run_tests", program)["data"], program)
    assert (body, args) == (run_tests, {"paths": paths, "keyword": keyword})


@pytest.mark.parametrize(
    ("tool", "ok", "changes"),
    [
        ("edit_file", True, True),
        ("install", True, True),
        ("edit_file", False, False),
        ("read_file", True, False),
    ],
)
def test_changes_that_leave_no_files_count(tool: str, ok: bool, changes: bool) -> None:
    use = answer(of_use(tool, None, ok=ok), ok=ok)
    messages = [HumanMessage("Add."), called("run_tests", {}), answer(RUN), called(tool, {}), use]
    assert (unproven_run({"messages": messages}) is not None) is changes


def passed(*steps: Any) -> Any:
    """A pass of one call a reply, each with its trace."""
    messages: list[AnyMessage] = [HumanMessage("Add.")]
    for step in steps:
        messages += [called("a_tool", {}), answer(step)]
    return {"messages": messages}


WRITE = of_use("edit_file", "a.py", ok=True)
FAILED = ran(1, "run_tests", "pytest", ok=False)
LOOK = ran(2, "shell", "cat a.py")
EDITS = ran(2, "shell", "rm b.py")
EDITS["data"] |= {"on": "a", "workspace": "b"}
ABSENT = ran(2, "shell", "no-such-linter", ok=False)
ABSENT["data"] |= {"exit_code": 127}
MAKES = {**of_use("write_file", "a.py", ok=True), "files": [{"name": "a.py"}]}
OUTDATED = ran(1, "shell", "python a.py; echo >> a.py")
OUTDATED["data"] |= {"artifacts": [{"name": "a.py"}]}
CURE: Any = {"run": "r2", "of": "r1", "closed": ["r1"], "fixed": True}


@pytest.mark.parametrize(
    ("steps", "proves"),
    [
        ([FAILED, WRITE, LOOK], "r1"),  # a look behind the write hides nothing
        ([FAILED, WRITE, ran(2, "python", "print(1)")], "r1"),
        ([FAILED, LOOK], None),  # nothing was changed: it would fail again
        ([FAILED, WRITE, ran(2, "run_tests", "pytest", repair=CURE)], None),
        ([FAILED, WRITE, ran(2, "run_tests", "pytest", repair=CURE), WRITE], "r2"),
        ([ran(1, "python", "x"), WRITE, LOOK], "r1"),
        ([ran(1, "python", "x"), LOOK, WRITE], "r1"),
        ([ran(1, "python", "x"), LOOK], None),
        ([ran(1, "python", "x"), EDITS], "r1"),  # a look that writes shows nothing itself
        ([ran(1, "python", "import os\nos.x", ok=False), WRITE], "r1"),
        ([LOOK, WRITE], None),  # nothing has worked yet
        ([ran(1, "python", "x"), WRITE, ABSENT], "r1"),  # there is no such command
        ([ran(1, "python", "import a"), MAKES, ran(2, "python", "print(1)")], "r1"),
        ([ran(1, "python", "print(1)"), MAKES], "r1"),  # for want of a better one
        ([MAKES, OUTDATED], "r1"),
        ([MAKES, OUTDATED, ran(2, "python", "import a")], None),
    ],
)
def test_the_open_failure_is_proven_before_the_last_run(
    steps: list[Any], proves: str | None
) -> None:
    run = unproven_run(passed(*steps))
    assert (run and run["id"]) == proves


def test_a_failure_of_an_earlier_pass_is_proven_too() -> None:
    state = passed(WRITE, LOOK) | {"opened": [FAILED["data"]]}
    assert unproven_run(state) == FAILED["data"]


def test_a_throwaway_that_failed_in_its_own_lines_proves_nothing() -> None:
    own = ran(1, "python", "import os\nos.x", ok=False)
    own["data"]["failure"] = {"class": "name", "cause": "no x", "file": "/run/main.py", "line": 2}
    assert unproven_run(passed(own, ran(2, "python", "y"), WRITE))["id"] == "r2"  # type: ignore[index]
    of_job = {**own, "data": {**own["data"], "code": {"text": "import sums\nsums.x"}}}
    assert unproven_run(passed(of_job, ran(2, "python", "y"), WRITE))["id"] == "r1"  # type: ignore[index]


def test_what_a_person_ran_is_not_run_for_them() -> None:
    theirs = {**FAILED["data"], "by": "Ada"}
    assert unproven_run(passed(WRITE) | {"opened": [theirs]}) is None
