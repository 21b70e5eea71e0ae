"""A reply is kept, whatever its calls' arguments hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agents.calls.serializable import UNSERIALIZABLE, make_serializable
from agents.models import MALFORMED
from agents.spending.pricing import Usage

SERDE = JsonPlusSerializer(allowed_msgpack_modules=None)
UNKEEPABLE = {
    "a number": 1 << 64,
    "a negative number": -(1 << 63) - 1,
    "a name": {"\ud83d": 1},
    "levels": json.loads("[" * 500 + "]" * 500),
}


def reply(*args: dict[str, Any], blocks: bool = False) -> AIMessage:
    calls = [{"name": "t", "args": each, "id": f"c{at}"} for at, each in enumerate(args)]
    told = [{"type": "text", "text": "So."}]
    told += [{"type": "tool_use", "id": e["id"], "name": "t", "input": e["args"]} for e in calls]
    return AIMessage(told if blocks else "So.", tool_calls=calls, id="m")


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("case", UNKEEPABLE)
def test_arguments_that_no_record_can_hold(case: str, blocks: bool) -> None:
    given = reply({"a": UNKEEPABLE[case]}, {"a": "half a pair \ud83d"}, blocks=blocks)
    with pytest.raises(TypeError):
        SERDE.dumps_typed(given)
    kept = make_serializable(given, SERDE)
    SERDE.dumps_typed(kept)
    bad, good = kept.tool_calls
    assert (bad["args"], bad["id"]) == ({MALFORMED: UNSERIALIZABLE}, "c0")
    assert (good, kept.id, kept.text) == (given.tool_calls[1], "m", "So.")


def test_all_else_is_left_alone() -> None:
    given = reply({"a": (1 << 64) - 1, "b": [{"c": None}]})
    assert make_serializable(given, SERDE) is given


def test_tokens_that_no_record_can_hold_are_not_told() -> None:
    usage = UsageMetadata(input_tokens=10**30, output_tokens=1, total_tokens=10**30)
    facts = {"token_usage": {"prompt_tokens": 10**30}, "finish_reason": "stop"}
    given = AIMessage("So.", usage_metadata=usage, response_metadata=facts)
    assert Usage.of(given) is None
    kept = make_serializable(given, SERDE)
    SERDE.dumps_typed(kept)
    assert (kept.usage_metadata, kept.response_metadata) == (None, {"finish_reason": "stop"})


@pytest.mark.parametrize("blocks", [False, True])
def test_of_two_calls_with_one_id_only_the_bad_one_is_replaced(blocks: bool) -> None:
    given = reply({"a": 1 << 64}, {"a": 1}, blocks=blocks)
    same = [{**call, "id": "c"} for call in given.tool_calls]
    content = given.content
    if not isinstance(content, str):
        content = [{**each, "id": "c"} if "id" in each else each for each in content]
    kept = make_serializable(
        given.model_copy(update={"tool_calls": same, "content": content}), SERDE
    )
    SERDE.dumps_typed(kept)
    assert [call["args"] for call in kept.tool_calls] == [{MALFORMED: UNSERIALIZABLE}, {"a": 1}]
