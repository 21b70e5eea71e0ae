"""A stored conversation in the form that the receiving model accepts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agents.models.replies.fields import ANSWERED_BY, FIELDS, fields_of
from agents.models.replies.history import NO_RESULT, NO_TEXT, history_for

MODEL, OTHER = "groq:small", "groq:large"
TASK = HumanMessage("The task.")
SIGNATURES = "__gemini_function_call_thought_signatures__"
NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
SHORT = re.compile("[a-zA-Z0-9]{9}")


def reply(*ids: str | None, model: str = MODEL, name: str = "python", **more: Any) -> AIMessage:
    calls = [{"name": name, "args": {}, "id": call_id, "type": "tool_call"} for call_id in ids]
    values = {"content": "", "response_metadata": {ANSWERED_BY: model}, **more}
    return AIMessage(tool_calls=calls, **values)


def result(call_id: str, text: str = "42") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, name="python")


def ids(messages: Sequence[BaseMessage]) -> list[str | None]:
    return [
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]


def result_ids(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]


def test_unique_ids_of_the_same_model_are_not_changed() -> None:
    messages = [TASK, reply("functions.python:0"), result("functions.python:0")]
    assert history_for(MODEL, messages) == messages


def test_ids_of_another_model_get_a_form_that_all_servers_accept() -> None:
    sent = history_for(
        MODEL, [TASK, reply("a.b:0", "call_1", model=OTHER), result("a.b:0"), result("call_1")]
    )
    assert all(SHORT.fullmatch(call_id or "") for call_id in ids(sent))
    assert ids(sent) == result_ids(sent)


def test_an_id_that_replies_repeat_is_made_unique_and_its_results_follow() -> None:
    turns = [(reply("call_0"), result("call_0", text)) for text in ("one", "two", "three")]
    messages = [TASK, *(message for turn in turns for message in turn)]
    sent = history_for(MODEL, messages)
    assert ids(sent)[0] == "call_0"
    assert len({*ids(sent)}) == 3
    assert ids(sent) == result_ids(sent)
    assert [message.text for message in sent if isinstance(message, ToolMessage)] == [
        "one",
        "two",
        "three",
    ]
    assert history_for(MODEL, messages[:5]) == sent[:5]  # so that a provider's cache stays valid
    assert messages[3] == reply("call_0")  # the stored conversation stays unchanged


def test_values_that_are_stored_by_id_follow_the_new_id() -> None:
    fields = {"message": {"id": "call_0"}, "calls": {"call_0": {"extra_content": 1}}}
    kwargs = {FIELDS: fields, SIGNATURES: {"call_0": "c2ln"}, "other": ["call_0"]}
    blocks = [{"type": "tool_use", "id": "call_0", "name": "python", "input": {}}]
    again = reply("call_0", content=blocks, additional_kwargs=kwargs)
    sent = history_for(MODEL, [TASK, reply("call_0"), result("call_0"), again, result("call_0")])
    renamed = ids(sent)[1]
    last = sent[3]
    assert isinstance(last, AIMessage)
    assert last.content == [{"type": "tool_use", "id": renamed, "name": "python", "input": {}}]
    assert fields_of(last) == {
        "message": {"id": "call_0"}, "calls": {renamed: {"extra_content": 1}}
    }  # fmt: skip
    assert last.additional_kwargs[SIGNATURES] == {renamed: "c2ln"}
    assert last.additional_kwargs["other"] == ["call_0"]


def test_a_result_without_its_call_and_a_call_without_its_result() -> None:
    sent = history_for(
        MODEL, [TASK, result("gone"), reply("a", "b"), result("b"), HumanMessage("?")]
    )
    task, call_reply, answer, missing, question = sent
    assert "The task." in task.text
    assert "42" in task.text
    assert ids([call_reply]) == ["a", "b"]
    assert (result_ids([answer]), result_ids([missing])) == (["b"], ["a"])
    assert missing.text == NO_RESULT
    assert question.text == "?"


def test_fields_thoughts_and_signatures_belong_to_the_model_that_wrote_them() -> None:
    thought = {"type": "thinking", "thinking": "hmm", "signature": "c2ln"}
    kwargs = {FIELDS: {"message": {"reasoning": "hmm"}, "calls": {}}, "reasoning_content": "hmm"}
    own_reply = AIMessage(
        [thought, {"type": "text", "text": "Hello."}],
        additional_kwargs=kwargs,
        response_metadata={ANSWERED_BY: MODEL, "model_provider": "groq"},
    )
    assert history_for(MODEL, [TASK, own_reply])[1] == own_reply
    plain = history_for(OTHER, [TASK, own_reply])[1]
    assert (plain.content, plain.additional_kwargs) == ("Hello.", {})
    unsigned = own_reply.model_copy(update={"response_metadata": {"model_provider": "groq"}})
    assert history_for(MODEL, [TASK, unsigned])[1].content == "Hello."


def test_a_blank_message_gets_a_placeholder() -> None:
    thought = [{"type": "thinking", "thinking": "hmm", "signature": "c2ln"}]
    metadata = {"response_metadata": {ANSWERED_BY: MODEL}}
    sent = history_for(
        MODEL,
        [
            HumanMessage(" \n"),
            AIMessage("\n\n", **metadata),
            TASK,
            AIMessage(thought, **metadata),
            TASK,
            reply("a", content="\n"),
            result("a", ""),
        ],
    )
    assert [message.content for message in sent] == [
        NO_TEXT, NO_TEXT, "The task.", NO_TEXT, "The task.", "", NO_TEXT,
    ]  # fmt: skip


def test_a_signed_blank_text_is_kept_with_its_calls() -> None:
    blocks = [{"type": "text", "text": "", "extras": {"signature": "c2ln"}}]
    message = reply("a", content=blocks)
    assert history_for(MODEL, [TASK, message, result("a")])[1].content == blocks


def test_successive_messages_of_the_user_are_one() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
    sent = history_for(
        MODEL, [SystemMessage("S"), TASK, HumanMessage("More."), reply(content="ok")]
    )
    assert [message.content for message in sent] == ["S", "The task.\n\nMore.", "ok"]
    (both,) = history_for(MODEL, [TASK, HumanMessage([image])])
    assert both.content == [{"type": "text", "text": "The task."}, image]


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.text(max_size=70), st.sampled_from(["", "a", "b", "ü", "x" * 99]), st.booleans()
            ),
            max_size=3,
        ),
        max_size=6,
    )
)
def test_any_history_is_valid(turns: list[list[tuple[str, str, bool]]]) -> None:
    messages: list[BaseMessage] = [TASK]
    for number, calls in enumerate(turns):
        reply_calls = [{"name": name, "args": {}, "id": call_id} for name, call_id, _ in calls]
        author = {ANSWERED_BY: MODEL if number % 2 else OTHER}
        messages.append(AIMessage("", tool_calls=reply_calls, response_metadata=author))
        messages += [result(call_id) for _, call_id, answered in calls if answered]
    sent = history_for(MODEL, messages)
    made_ids = ids(sent)
    assert all(made_ids)
    assert len({*made_ids}) == len(made_ids)
    assert sorted(map(str, made_ids)) == sorted(result_ids(sent))
    names = [
        call["name"]
        for message in sent
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]
    assert all(map(NAME.fullmatch, names))
    assert all(
        message.text.strip() or (isinstance(message, AIMessage) and message.tool_calls)
        for message in sent
    )
