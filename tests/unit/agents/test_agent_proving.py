"""Which run proves a pass's last changes, and what it is given."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents.models import MALFORMED
from agents.proving import _last_args, unproven_run
from agents.tools.trace import of_use

RUN: Any = {"kind": "run_finished", "data": {"id": "r1", "tool": "run_tests"}, "files": []}


def called(tool: str, args: dict[str, Any], call_id: str = "c") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": args, "id": call_id}])


def answer(trace: Any, *, ok: bool = True, call_id: str = "c") -> ToolMessage:
    status: Any = "success" if ok else "error"
    return ToolMessage("", tool_call_id=call_id, artifact=trace, status=status)


@pytest.mark.parametrize("again", ["c", "d"])  # some providers count calls anew in each reply
@pytest.mark.parametrize("bad", [{MALFORMED: "{"}, {"paths": ["../x"]}, {"keyword": 1}])
def test_what_was_refused_has_run_nothing(bad: dict[str, Any], again: str) -> None:
    refused = answer(of_use("run_tests", None, ok=False), ok=False, call_id=again)
    messages: list[AnyMessage] = [
        HumanMessage("Add."),
        called("run_tests", {"paths": ["a.py"]}),
        answer(RUN),
        called("run_tests", bad, again),
        refused,
    ]
    assert _last_args(messages, "run_tests") == {"paths": ["a.py"]}
    assert _last_args(messages[:1] + messages[3:], "run_tests") == {}


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
