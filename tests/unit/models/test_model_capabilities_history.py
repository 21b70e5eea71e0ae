"""The lessons of a refusal about the required conversation, and the messages that the server
receives.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.quirks.refusals import DEEPSEEK_THOUGHTS, GEMINI_SIGNATURE

from agents.errors import ModelRefused
from agents.models.capabilities.body import adapt
from agents.models.capabilities.learn import learn
from agents.models.capabilities.record import Capabilities

NONE = Capabilities()
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
REPLY = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [CALL]}
OPENAI: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "hi"},
        REPLY,
        {"role": "tool", "content": "ran", "tool_call_id": "call_1"},
    ]
}
KIMI = (
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
)
CONTENT_NEEDED = {"messages.content": ""}
TEXT_NEEDED = {"messages.reasoning_content": "(no text)"}
SIGNATURE_NEEDED = {
    "messages.tool_calls.extra_content.google.thought_signature": "skip_thought_signature_validator"
}


@pytest.mark.parametrize(
    ("message", "lesson"),
    [
        (DEEPSEEK_THOUGHTS, {"add": TEXT_NEEDED}),
        (KIMI, {"add": TEXT_NEEDED}),
        ("missing field `reasoning_content` in messages.1", {"add": TEXT_NEEDED}),
        (
            "`reasoning` is required in each message of the model",
            {"add": {"messages.reasoning": "(no text)"}},
        ),
        (GEMINI_SIGNATURE, {"add": SIGNATURE_NEEDED}),
        (
            "function call `f` in the 3. content block is missing a `thought_signature`.",
            {"add": SIGNATURE_NEEDED},
        ),
        (
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            {"short_ids": True},
        ),
        (
            "Invalid 'messages[1].tool_calls[0].id': string too long. Expected 40, got 51.",
            {"short_ids": True},
        ),
        (
            "Item with id 'rs_05' not found. Items are not persisted.",
            {"drop": {"messages.reasoning_details.id"}},
        ),
        ("messages.1.content: Input should be a valid string", {"add": CONTENT_NEEDED}),
        ("Invalid value for 'content': expected a string, got null.", {"add": CONTENT_NEEDED}),
        (
            "contents[2].parts[0].function_response.name: Name cannot be empty.",
            {"named_results": True},
        ),
        ("tool messages are not supported", {}),
        ("none is not an allowed value", {}),
        ("reasoning_effort is missing", {}),
        ("the thinking budget must be provided", {}),
        ("The conversation must not be empty.", {}),
    ],
)
def test_a_field_that_replies_lack_is_learned_from_a_sentence(
    message: str, lesson: dict[str, Any]
) -> None:
    assert learn(ModelRefused(message, status=400), OPENAI, NONE).record == NONE.changed(**lesson)


def test_a_field_that_replies_lack_is_learned_from_a_path() -> None:
    located = {"loc": ["body", "messages", 1, "assistant", "reasoning_content"]}
    details = {"detail": [{**located, "type": "missing", "msg": "Field required"}]}
    refusal = ModelRefused("Unprocessable Entity", status=422, details=details)
    assert learn(refusal, OPENAI, NONE).record.add == TEXT_NEEDED


def test_a_required_field_is_no_longer_left_out() -> None:
    record = NONE.changed(drop=frozenset({"messages.reasoning_content", "seed"}))
    learned = learn(ModelRefused(DEEPSEEK_THOUGHTS, status=400), OPENAI, record).record
    assert (learned.drop, learned.add) == (frozenset({"seed"}), TEXT_NEEDED)


def test_a_field_that_a_changed_server_refuses_is_no_longer_added() -> None:
    record = Capabilities(add=TEXT_NEEDED)
    body = adapt(OPENAI, record)
    refusal = ModelRefused("Unknown field: messages.reasoning_content", status=400)
    learned = learn(refusal, body, record).record
    stored = record.merged(learned)
    for known_record in (learned, stored):
        assert (known_record.drop, known_record.add) == ({"messages.reasoning_content"}, {})
    assert stored.merged(Capabilities(add=TEXT_NEEDED)) == record


def test_a_refusal_that_only_names_a_field_teaches_the_opposite_form() -> None:
    refusal = ModelRefused("Bad request: reasoning_content", status=400)
    drops = frozenset({"messages.reasoning_content"})
    assert learn(refusal, OPENAI, NONE).record == Capabilities(drop=drops)
    without = adapt(OPENAI, Capabilities(drop=drops))
    assert learn(refusal, without, NONE).record == Capabilities(add=TEXT_NEEDED)


def test_replies_that_lack_a_field_get_it() -> None:
    replies = [
        {"role": "assistant", "content": "ok"},
        {"role": "assistant", "content": None, "reasoning_content": "", "tool_calls": [CALL, CALL]},
        {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [
            CALL, {**CALL, "extra_content": {"google": {"thought_signature": "c2ln"}}},
        ]},
    ]  # fmt: skip
    body = {"messages": [{"role": "user", "content": "hi"}, *replies]}
    sent = adapt(body, NONE.changed(add=TEXT_NEEDED))["messages"]
    assert [message.get("reasoning_content") for message in sent] == [
        None,
        "(no text)",
        "(no text)",
        "hm",
    ]
    user, plain_reply, call_reply, signed = adapt(body, NONE.changed(add=SIGNATURE_NEEDED))[
        "messages"
    ]
    assert (user, plain_reply, signed) == (body["messages"][0], replies[0], replies[2])
    added = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert call_reply["tool_calls"] == [{**CALL, "extra_content": added}, CALL]


def test_a_reply_without_content_gets_an_empty_one() -> None:
    reply = {"role": "assistant", "content": "ok"}
    sent = adapt({"messages": [REPLY, reply]}, NONE.changed(add=CONTENT_NEEDED))["messages"]
    assert sent == [{**REPLY, "content": ""}, reply]
    refusal = ModelRefused("messages.0.content: Input should be a valid string", status=422)
    assert learn(refusal, {"messages": [reply]}, NONE).record == NONE


def test_a_call_without_a_signature_gets_one_in_geminis_form() -> None:
    parts = [{"text": "I run it."}, {"functionCall": {"name": "f", "args": {}}}]
    body = {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": parts}]
    }
    record = learn(ModelRefused(GEMINI_SIGNATURE, status=400), body, NONE).record
    sent = adapt(body, record)["contents"]
    assert sent[0] == body["contents"][0]
    signed = {**parts[1], "thoughtSignature": "skip_thought_signature_validator"}
    assert sent[1]["parts"] == [parts[0], signed]


def test_ids_of_calls_and_results_stay_equal() -> None:
    sent = adapt(OPENAI, NONE.changed(short_ids=True))["messages"]
    (call,) = sent[1]["tool_calls"]
    assert sent[2]["tool_call_id"] == call["id"]
    assert len(call["id"]) == 9
    assert adapt({"messages": sent}, NONE.changed(short_ids=True))["messages"] == sent


def test_results_get_the_names_of_their_tools() -> None:
    sent = adapt(OPENAI, NONE.changed(named_results=True, short_ids=True))["messages"]
    assert sent[2]["name"] == "f"
    assert sent[2]["tool_call_id"] == sent[1]["tool_calls"][0]["id"]
    alone = [{"role": "tool", "content": "ran", "tool_call_id": "gone"}]
    assert adapt({"messages": alone}, NONE.changed(named_results=True))["messages"] == alone


def test_a_field_within_a_field_is_left_out() -> None:
    detail = {"type": "reasoning.text", "id": "rs_1", "text": "hm"}
    reply = {**REPLY, "reasoning_details": [detail]}
    record = NONE.changed(drop=frozenset({"messages.reasoning_details.id"}))
    (sent,) = adapt({"messages": [reply]}, record)["messages"]
    assert sent == {**reply, "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}


def test_merged_records_of_two_workers_have_both_lessons() -> None:
    first, second = (
        NONE.changed(add=TEXT_NEEDED),
        NONE.changed(add=SIGNATURE_NEEDED, short_ids=True),
    )
    both = first.merged(second)
    assert (both.add, both.short_ids) == ({**TEXT_NEEDED, **SIGNATURE_NEEDED}, True)
    assert both == second.merged(first)
