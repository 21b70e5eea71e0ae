"""The reported progress of a plan: only the steps that the executor names."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from agents.executor.plan_progress import (
    StepChanges,
    changes_at_end,
    changes_by_reply,
    without_steps,
)
from agents.tools.registry import build_tools

STEPS = 4


def reply(*steps_by_call: Any) -> AIMessage:
    """A reply with one call for each argument: the steps that the call names, or None if it names
    no steps.
    """
    calls = [
        {
            "name": "python",
            "args": {"code": "x"} | ({} if steps is None else {"plan_steps": steps}),
            "id": f"c{index}",
            "type": "tool_call",
        }
        for index, steps in enumerate(steps_by_call)
    ]
    return AIMessage("", tool_calls=calls)


def ran(*successes: bool) -> list[AnyMessage]:
    """The results of a reply's calls that ran code; each run succeeded or failed."""
    return [
        ToolMessage(
            "report",
            tool_call_id=f"c{index}",
            artifact={"kind": "run_finished", "data": {"succeeded": succeeded}, "files": []},
        )
        for index, succeeded in enumerate(successes)
    ]


def test_a_step_begins_once_and_ends_when_a_later_step_begins():
    assert changes_by_reply([], reply([1]), STEPS) == StepChanges((), (1,))
    messages = [reply([1]), *ran(True)]
    assert changes_by_reply(messages, reply([1]), STEPS) == StepChanges()
    assert changes_by_reply(messages, reply([2]), STEPS) == StepChanges((1,), (2,))


def test_a_call_without_a_step_belongs_to_the_previous_step():
    messages = [reply([1]), *ran(True), reply(None), *ran(False)]
    assert changes_by_reply(messages, reply([2]), STEPS) == StepChanges((), (2,))


def test_no_step_is_done_after_a_failed_run():
    messages = [reply([1]), *ran(False)]
    assert changes_by_reply(messages, reply([2]), STEPS) == StepChanges((), (2,))
    assert changes_at_end(messages, STEPS) == StepChanges()
    messages += [reply([2]), *ran(True)]
    assert changes_by_reply(messages, reply([3]), STEPS) == StepChanges((1, 2), (3,))
    assert changes_at_end(messages, STEPS) == StepChanges((1, 2))


@pytest.mark.parametrize("steps", ["two", 0, 5, -1, True, [], ["x"], {"n": 1}, 1.5, "9999999"])
def test_an_invalid_value_names_no_step(steps):
    assert changes_by_reply([], reply(steps), STEPS) == StepChanges()


@pytest.mark.parametrize("steps", [2, "2", [2], ["2"], [2, 9]])
def test_a_step_number_is_read_in_any_form(steps):
    assert changes_by_reply([], reply(steps), STEPS) == StepChanges((), (2,))


def test_no_tool_receives_the_argument():
    assert without_steps({"code": "x", "plan_steps": [1]}) == {"code": "x"}

    async def greedy(plan_steps: str, runtime: Any) -> Any:
        """A tool.

        Args:
            plan_steps: Taken already.
        """

    with pytest.raises(ValueError, match="plan_steps"):
        build_tools([greedy])
