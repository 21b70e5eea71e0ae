"""A pass ends if the model repeats the same calls."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents.executor.model_calls import MAX_REPEATS, repeated_call
from agents.models.replies.fields import ANSWERED_BY


def pass_of(*lines: str, model: str = "m", **more: Any) -> list[AnyMessage]:
    messages: list[AnyMessage] = [HumanMessage("Add.")]
    for at, line in enumerate(lines):
        call = {"name": "shell", "args": {"command": line, **more}, "id": str(at)}
        metadata = {ANSWERED_BY: model}
        reply = AIMessage("", tool_calls=[call] if line else [], response_metadata=metadata)
        messages += [reply, ToolMessage(f"r{at}", tool_call_id=str(at))]
    return messages


SAME = ["ls"] * MAX_REPEATS


def test_repeated_equal_calls_end_a_pass_also_for_different_steps() -> None:
    reason = "the same call was made 5 times in a row"
    assert repeated_call(pass_of(*SAME)) == reason
    assert repeated_call([*pass_of("pwd", *SAME[1:], plan_steps=[1]), *pass_of("ls")[1:]]) == reason


def test_different_calls_do_not_end_a_pass() -> None:
    assert repeated_call(pass_of(*SAME[1:])) is None
    assert repeated_call(pass_of(*SAME[1:], "pwd")) is None
    assert repeated_call(pass_of("ls", "ls", "pwd", "ls", "ls")) is None
    assert repeated_call([*pass_of(*SAME[1:]), *pass_of("ls", model="n")[1:]]) is None
    assert repeated_call([*pass_of(*SAME[1:]), *pass_of("ls")]) is None  # in a new pass
    assert repeated_call(pass_of(*[""] * MAX_REPEATS)) is None
