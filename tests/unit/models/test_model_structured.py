from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from pydantic import BaseModel, Field

from agents.models.replies.structured import Answer, read


class Plan(BaseModel):
    """A plan."""

    steps: list[str] = Field(min_length=1)


def answer(message: AIMessage) -> Answer[Plan]:
    return read(message, Plan)


def calling(args: dict[str, Any], name: str = "Plan") -> AIMessage:
    call = {"name": name, "args": args, "id": "1", "type": "tool_call"}
    return AIMessage(content="", tool_calls=[call])


@pytest.mark.parametrize(
    "text",
    ['{"steps": ["write"]}', 'Here it is:\n```json\n{"steps": ["write"]}\n```\nGood luck.'],
)
def test_json_in_the_text_is_accepted(text: str) -> None:
    assert answer(AIMessage(text)).value == Plan(steps=["write"])


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (calling({"steps": []}), "steps: List should have at least 1 item"),
        (calling({}), "steps: Field required"),
        (calling({"steps": ["a"]}, "Verdict"), "does not call Plan"),
        (AIMessage("First, we write."), "does not call Plan"),
        (AIMessage(""), "does not call Plan"),
        (AIMessage("{steps: write}"), "Invalid JSON"),
        (
            AIMessage("", response_metadata={"finish_reason": "MALFORMED_FUNCTION_CALL"}),
            "not valid JSON",
        ),
        (
            AIMessage('{"steps": ["wr', response_metadata={"finish_reason": "MAX_TOKENS"}),
            "cut off at the limit",
        ),
    ],
)
def test_an_invalid_value_is_an_error_in_words(message: AIMessage, says: str) -> None:
    result = answer(message)
    assert result.value is None
    assert result.error is not None
    assert says in result.error
    assert result.message is message
