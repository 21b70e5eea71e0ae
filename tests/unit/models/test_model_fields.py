"""Fields of a reply that its model needs again: extracted, stored, and added to the next
request.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agents.calls.call_key import message_values
from agents.calls.serializer import SERIALIZER, make_serializable
from agents.context.overflow import cut
from agents.context.trimming import size, trim_exchanges
from agents.models.replies.fields import (
    ANSWERED_BY,
    FIELDS,
    ReplyFields,
    add_fields,
    fields_of,
    take_fields,
    with_fields,
    with_fields_of,
)
from agents.models.streams.openai import OpenAIAssembler
from agents.models.streams.protocol import joined
from agents.prompts import Part, past_reply, trimmable_parts

SIGNED = {"google": {"thought_signature": "c2ln"}}
CALL = {"id": "a", "type": "function", "function": {"name": "python", "arguments": "{}"}}
FOUND = ReplyFields(message={"reasoning_content": "hmm"}, calls={"a": {"extra_content": SIGNED}})


def message(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": copy.deepcopy([*calls]), **more}


def test_nonstandard_fields_are_extracted() -> None:
    signed = {**CALL, "index": 0, "extra_content": SIGNED}
    received = message(signed, reasoning_content="hmm", refusal=None, audio=None, annotations=[])
    assert take_fields(received) == FOUND
    assert take_fields(message(CALL, refusal="", reasoning=None)) is None
    assert take_fields(message(reasoning_content="")) == {
        "message": {"reasoning_content": ""}, "calls": {}
    }  # fmt: skip


def test_calls_without_an_id_get_an_id() -> None:
    first, second = ({**CALL, "id": None, "extra_content": n} for n in (1, 2))
    received = message(first, second, {**CALL, "id": "call_0"})
    assert take_fields(received) == {
        "message": {}, "calls": {"call_0": {"extra_content": 1}, "call_1": {"extra_content": 2}}
    }  # fmt: skip
    assert [call["id"] for call in received["tool_calls"]] == ["call_0", "call_1", "call_0_2"]


def test_fields_go_back_into_their_message_and_call() -> None:
    in_function = {"function": {"signature": "c2ln"}}
    fields = ReplyFields(message={"reasoning_content": "hmm"}, calls={"a": in_function})
    request = [{"role": "user", "content": "?"}, message(), message(CALL), {"role": "tool"}]
    sent = add_fields({"messages": request}, [None, fields])["messages"]
    assert sent[0] == request[0]
    assert sent[1] == request[1]
    assert sent[2]["reasoning_content"] == "hmm"
    function = {"name": "python", "arguments": "{}", "signature": "c2ln"}
    assert sent[2]["tool_calls"] == [{**CALL, "function": function}]
    assert request[2] == message(CALL)


def test_a_value_of_the_client_is_not_replaced() -> None:
    body = {"messages": [message(reasoning_content="its own")]}
    assert add_fields(body, [FOUND]) == body


@pytest.mark.parametrize("history", [[FOUND], [FOUND, None, None]])
def test_indistinguishable_replies_get_no_fields(history: list[ReplyFields | None]) -> None:
    body = {"messages": [message(), message(CALL)]}
    assert add_fields(body, history) == body


def test_copies_that_a_client_makes_are_left_out() -> None:
    fields = ReplyFields(message={"reasoning": "hmm", "reasoning_details": [1]}, calls={})
    kwargs = {"reasoning_content": "hmm", "reasoning_details": [1], "more": [2]}
    converted = AIMessage("", additional_kwargs=kwargs)
    assert with_fields(converted, fields).additional_kwargs == {"more": [2], FIELDS: fields}


def test_fields_are_stored_in_the_journal_and_change_no_key() -> None:
    stored = with_fields(AIMessage("Hello."), FOUND)
    assert SERIALIZER.loads_typed(SERIALIZER.dumps_typed(stored)) == stored
    assert message_values([stored]) == message_values([AIMessage("Hello.")])


def test_fields_that_cannot_be_stored_are_left_out() -> None:
    fields = ReplyFields(message={"count": 2**70}, calls={})
    stored = make_serializable(with_fields(AIMessage("Hello."), fields))
    assert (stored.text, stored.additional_kwargs) == ("Hello.", {})


def test_an_older_reply_has_only_the_fields_of_the_message() -> None:
    reply = with_fields(AIMessage("", response_metadata={ANSWERED_BY: "groq:small"}), FOUND)
    past = past_reply("Half of it", reply)
    assert fields_of(past) == {"message": FOUND["message"], "calls": {}}
    assert past.response_metadata[ANSWERED_BY] == "groq:small"
    assert trimmable_parts(past) == [Part(0, 10)]
    assert with_fields_of(AIMessage(""), AIMessage("?")) == AIMessage("?")


def test_fields_count_in_the_size_of_a_request_and_in_trimming() -> None:
    long = with_fields(
        AIMessage("ok"), ReplyFields(message={"reasoning_content": "é" * 9_000}, calls={})
    )
    assert 18_000 < size([long]) < 18_100
    messages: list[AnyMessage] = [HumanMessage("task"), *[long] * 8]
    assert len(trim_exchanges(messages, 100_000)) < len(messages)


def test_in_a_small_context_the_fields_of_the_newest_reply_are_left_out_before_its_text() -> None:
    old, newest = (
        with_fields(AIMessage(f"Reply {n}."), ReplyFields(message={"reasoning": "x" * n}, calls={}))
        for n in (20_000, 50_000)
    )
    _, note, *_, last_reply = cut([HumanMessage("task"), *[old] * 4, newest], 40_000)
    assert "3 of your earlier replies" in str(note.text)
    assert (last_reply.text, fields_of(last_reply)) == (newest.text, None)


TEXT = {"type": "reasoning.text", "index": 0}


def test_a_complete_message_has_no_pieces() -> None:
    blocks = [{"type": "thinking", "thinking": text, "index": 0} for text in ("a", "b")]
    assembler = OpenAIAssembler()
    received = {"role": "assistant", "content": "ok", "thinking_blocks": blocks}
    assembler.feed({"choices": [{"index": 0, "message": received, "finish_reason": "stop"}]})
    assert assembler.result()["choices"][0]["message"]["thinking_blocks"] == blocks


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([[{**TEXT, "text": "a"}], [{**TEXT, "text": "b"}]], [{**TEXT, "text": "ab"}]),
        ([[{**TEXT, "text": "a"}, {**TEXT, "text": "b"}]], [{**TEXT, "text": "ab"}]),
        (
            [[{**TEXT, "text": "a"}], [{**TEXT, "index": 1, "text": "b"}]],
            [{**TEXT, "text": "a"}, {**TEXT, "index": 1, "text": "b"}],
        ),
        (
            [[{**TEXT, "text": "a"}], [{**TEXT, "type": "reasoning.encrypted", "data": "x"}]],
            [{**TEXT, "text": "a"}, {**TEXT, "type": "reasoning.encrypted", "data": "x"}],
        ),
        (
            [[{**TEXT, "id": "1", "data": "x"}], [{**TEXT, "id": "2", "data": "y"}]],
            [{**TEXT, "id": "1", "data": "x"}, {**TEXT, "id": "2", "data": "y"}],
        ),
        (
            [[{**TEXT, "text": "a", "signature": None}], [{**TEXT, "signature": "x", "id": None}]],
            [{**TEXT, "text": "a", "signature": "x", "id": None}],
        ),
        (
            [[{"type": "x", "text": "a"}], [{"type": "x", "text": "b"}]],
            [{"type": "x", "text": "ab"}],
        ),
        (
            [[{"type": "x", "data": "a"}], [{"type": "x", "data": "b"}]],
            [{"type": "x", "data": "a"}, {"type": "x", "data": "b"}],
        ),
        (
            [
                [{"type": "x", "text": "a"}],
                [{"type": "x", "text": "b"}, {"type": "x", "text": "c"}],
            ],
            [{"type": "x", "text": "ab"}, {"type": "x", "text": "c"}],
        ),
        ([{"a": {"b": 1}}, {"a": {"c": "x"}}, {"a": {"c": "y"}}], {"a": {"b": 1, "c": "y"}}),
        ([[1], ["a"]], [1, "a"]),
        ([1, None, 2], 2),
    ],
)
def test_pieces_are_joined(pieces: list[Any], expected: Any) -> None:
    value: Any = None
    before = json.dumps(pieces)
    for piece in pieces:
        value = joined(value, piece)
    assert value == expected
    assert json.dumps(pieces) == before
