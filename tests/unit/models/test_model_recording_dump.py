"""Calls are written as turns of a recording, and played again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from agents.errors import RecordingMismatch
from agents.models.replies.ending import notable_finish
from agents.ports.spending import Usage
from agents.recordings.dump import dump_turn, record_turn
from agents.recordings.recorded_model import RecordedModel
from agents.recordings.recording import load
from agents.redaction import REMOVED, Redaction

SECRET = "hunter22"
REDACTION = Redaction.of([SECRET])
CALL = {"name": "python", "args": {"code": "print(1)\nprint(2)"}, "id": "c1", "type": "tool_call"}
TOKENS = {"input_tokens": 31, "output_tokens": 9, "total_tokens": 40}

FIRST: list[BaseMessage] = [SystemMessage("Be brief.\nBe right."), HumanMessage("Print 1 and 2.")]
RUN = AIMessage("", tool_calls=[CALL], usage_metadata=TOKENS)
SECOND: list[BaseMessage] = [*FIRST, RUN, ToolMessage("1\n2\n", tool_call_id="c1")]
DONE = AIMessage("It prints 1 and 2.")


@tool
def python(code: str) -> str:
    """Runs code."""
    return code


def file_of(*calls: tuple[Sequence[BaseMessage], AIMessage], strict: bool = True) -> str:
    turns = [
        dump_turn(
            record_turn(
                "executor",
                "groq:m",
                request_messages,
                ["python"],
                reply,
                notable_finish(reply),
                REDACTION,
            )
        )
        for request_messages, reply in calls
    ]
    return f"about: by a test\nstrict: {str(strict).lower()}\nturns:\n" + "".join(turns)


def playing(folder: Path, text: str) -> Any:
    (folder / "it.yaml").write_text(text, encoding="utf-8")
    model = RecordedModel(recording=load(folder, "it"), role="executor", redaction=REDACTION)
    return model.bind_tools([python])


def test_recorded_calls_are_played(tmp_path: Path) -> None:
    model = playing(tmp_path, file_of((FIRST, RUN), (SECOND, DONE)))
    run = model.invoke(FIRST)
    assert [(call["name"], call["args"]) for call in run.tool_calls] == [("python", CALL["args"])]
    assert Usage.of(run) == Usage(31, 9)
    again = [*FIRST, run, ToolMessage("1\n2\n", tool_call_id=run.tool_calls[0]["id"])]
    assert model.invoke(again).content == "It prints 1 and 2."


@pytest.mark.parametrize(
    ("request_messages", "expected_text"),
    [
        (
            [SystemMessage("Be brief.\nBe quick."), FIRST[1]],
            "+++ asked (system)\n@@ -1,2 +1,2 @@\n Be brief.\n-Be right.\n+Be quick.",
        ),
        (
            [FIRST[0], HumanMessage("Print 1 and 3.")],
            "message 2 differs:\n--- recorded (human)\n+++ asked (human)\n@@ -1 +1 @@\n-Print 1 ",
        ),
        ([FIRST[0]], "--- recorded (human)\n+++ asked (nothing)"),
        ([*FIRST, RUN, ToolMessage("1\n3\n", tool_call_id="c1")], "turn 2\nmessage 1 differs"),
        ([FIRST[0], HumanMessage("Else."), *SECOND[2:]], "turn 2\nan earlier message"),
    ],
)
def test_another_request_fails_and_shows_the_first_difference(
    tmp_path: Path, request_messages: list[BaseMessage], expected_text: str
) -> None:
    model = playing(tmp_path, file_of((FIRST, RUN), (SECOND, DONE)))
    with pytest.raises(RecordingMismatch) as departed:
        model.invoke(request_messages)
    assert expected_text in str(departed.value)


def test_no_file_contains_a_secret_and_the_prompt_with_the_secret_still_plays(
    tmp_path: Path,
) -> None:
    request_messages = [FIRST[0], HumanMessage(f"Log in with {SECRET}.")]
    reply = AIMessage(f"I use {SECRET}.", tool_calls=[{**CALL, "args": {"code": f"'{SECRET}'"}}])
    messages = [*request_messages, reply, ToolMessage(f"in as {SECRET}", tool_call_id="c1")]
    text = file_of((request_messages, reply), (messages, DONE))
    assert SECRET not in text
    assert text.count(REMOVED) == 4
    model = playing(tmp_path, text)
    assert model.invoke(request_messages).content == f"I use {REMOVED}."
    assert model.invoke(messages).content == DONE.content


@pytest.mark.parametrize(
    "reply",
    [
        AIMessage("half", response_metadata={"finish_reason": "length"}),
        AIMessage("", response_metadata={"finish_reason": "MALFORMED_FUNCTION_CALL"}),
        AIMessage(""),
        AIMessage(
            "",
            invalid_tool_calls=[
                {"name": "python", "args": '{"code', "id": "b", "error": None}  # type: ignore[list-item]
            ],
        ),
    ],
)
def test_a_bad_finish_reason_is_played_again(tmp_path: Path, reply: AIMessage) -> None:
    played = playing(tmp_path, file_of((FIRST, reply))).invoke(FIRST)
    ending = reply.response_metadata.get("finish_reason", "stop")
    assert (played.content, played.response_metadata["finish_reason"]) == (reply.content, ending)
    broken = [(call["name"], call["args"]) for call in reply.invalid_tool_calls]
    assert [(call["name"], call["args"]) for call in played.invalid_tool_calls] == broken


TEXTS = st.text(
    st.one_of(st.characters(), st.sampled_from("\n\r\t \x85\u2028\ufeff:#-|>'\"\x1b\\%@"))
)


@settings(max_examples=50)
@given(TEXTS.filter(bool), TEXTS, TEXTS)
def test_every_text_is_restored_unchanged(
    tmp_path_factory: pytest.TempPathFactory, prompt: str, args: str, answer: str
) -> None:
    folder = tmp_path_factory.getbasetemp()
    reply = AIMessage(answer, tool_calls=[{**CALL, "args": {"code": args, "n": [1, None, True]}}])
    played = playing(folder, file_of(([HumanMessage(prompt)], reply))).invoke(
        [HumanMessage(prompt)]
    )
    assert played.content == Redaction().text(answer)
    assert played.tool_calls[0]["args"] == {"code": Redaction().text(args), "n": [1, None, True]}
