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
    """A reply with one call for each argument: its steps, or None for a call without steps."""
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
    """The answers to a reply with calls that ran code; each succeeded or failed."""
    return [
        ToolMessage(
            "report",
            tool_call_id=f"c{index}",
            artifact={"kind": "run_finished", "data": {"succeeded": succeeded}, "files": []},
        )
        for index, succeeded in enumerate(successes)
    ]


def test_a_step_begins_once_and_is_over_when_a_later_one_begins():
    assert changes_by_reply([], reply([1]), STEPS) == StepChanges((), (1,))
    messages = [reply([1]), *ran(True)]
    assert changes_by_reply(messages, reply([1]), STEPS) == StepChanges()
    assert changes_by_reply(messages, reply([2]), STEPS) == StepChanges((1,), (2,))


def test_a_call_that_names_none_is_for_the_step_before():
    messages = [reply([1]), *ran(True), reply(None), *ran(False)]
    assert changes_by_reply(messages, reply([2]), STEPS) == StepChanges((), (2,))


def test_nothing_is_done_while_the_last_run_has_failed():
    messages = [reply([1]), *ran(False)]
    assert changes_by_reply(messages, reply([2]), STEPS) == StepChanges((), (2,))
    assert changes_at_end(messages, STEPS) == StepChanges()
    messages += [reply([2]), *ran(True)]
    assert changes_by_reply(messages, reply([3]), STEPS) == StepChanges((1, 2), (3,))
    assert changes_at_end(messages, STEPS) == StepChanges((1, 2))


@pytest.mark.parametrize("steps", ["two", 0, 5, -1, True, [], ["x"], {"n": 1}, 1.5, "9999999"])
def test_nonsense_names_no_step(steps):
    assert changes_by_reply([], reply(steps), STEPS) == StepChanges()


@pytest.mark.parametrize("steps", [2, "2", [2], ["2"], [2, 9]])
def test_a_number_is_read_however_it_is_written(steps):
    assert changes_by_reply([], reply(steps), STEPS) == StepChanges((), (2,))


def test_no_tool_ever_sees_the_argument():
    assert without_steps({"code": "x", "plan_steps": [1]}) == {"code": "x"}

    async def greedy(plan_steps: str, runtime: Any) -> Any:
        """A tool.

        Args:
            plan_steps: Taken already.
        """

    with pytest.raises(ValueError, match="plan_steps"):
        build_tools([greedy])
