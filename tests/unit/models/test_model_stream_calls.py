"""Tool calls as servers stream them, in each wire format."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agents.errors import ModelError, ModelUnavailable
from agents.models.replies.arguments import unwrapped
from agents.models.replies.ending import MALFORMED
from agents.models.streams import ANTHROPIC, GEMINI, OLLAMA, OPENAI, StreamProtocol

A, B = {"path": "a"}, {"path": "b", "deep": {"x": {}}}
TEXT_A, TEXT_B = json.dumps(A), json.dumps(B)


def piece(index: Any = 0, id_: Any = None, name: Any = None, arguments: Any = None) -> Any:
    """A piece of a call, without the fields that are None; index `...` is null."""
    function = {"name": name, "arguments": arguments}
    part: dict[str, Any] = {"function": {k: v for k, v in function.items() if v is not None}}
    if index is not None:
        part["index"] = None if index is ... else index
    return {**part, **({} if id_ is None else {"id": id_})}


def split(text: str, size: int = 5) -> list[str]:
    return [text[begin : begin + size] for begin in range(0, len(text), size)]


def streamed(index: Any, id_: Any, name: str, text: str) -> list[Any]:
    """A call as the specification describes it: its id and name, then its arguments in pieces."""
    return [piece(index, id_, name, ""), *(piece(index, arguments=part) for part in split(text))]


def calls(*deltas: Any) -> list[tuple[str | None, str, Any]]:
    """The assembled calls: id, name, and the arguments."""
    assembler = OPENAI.assembler()
    for delta in deltas:
        listed = delta if isinstance(delta, list) else [delta]
        assembler.feed({"choices": [{"index": 0, "delta": {"tool_calls": listed}}]})
    message = assembler.result()["choices"][0]["message"]
    results = []
    for call in message.get("tool_calls", []):
        assert call["type"] == "function"
        function = call["function"]
        results.append((call["id"], function["name"], json.loads(function["arguments"])))
    return results


TWO = [("1", "read", A), ("2", "write", B)]
SAME = [("1", "read", A), ("2", "read", B)]
NO_IDS = [(None, "read", A), (None, "write", B)]


@pytest.mark.parametrize("indexes", [(0, 1), (0, 0), (1, 2), (3, 7), ("0", "1"), (..., ...)])
@pytest.mark.parametrize("expected", [TWO, SAME], ids=["two names", "one name"])
def test_calls_are_distinguished_by_index_or_id(indexes: Any, expected: Any) -> None:
    names = [name for _, name, _ in expected]
    first, second = (
        streamed(*values) for values in zip(indexes, "12", names, (TEXT_A, TEXT_B), strict=True)
    )
    assert calls(*first, *second) == expected


def test_calls_without_index_continue_the_last_one() -> None:
    assert calls(*streamed(None, "1", "read", TEXT_A), *streamed(None, "2", "write", TEXT_B)) == TWO
    assert calls(*streamed(None, None, "read", TEXT_A), *streamed(None, "", "write", TEXT_B)) == [
        *NO_IDS
    ]
    assert calls([piece(None, "1", "read", TEXT_A), piece(None, "2", "write", TEXT_B)]) == TWO
    assert calls([piece(None, None, "read", TEXT_A), piece(None, None, "write", TEXT_B)]) == NO_IDS


@pytest.mark.parametrize("index", [0, None, ...])
def test_complete_calls_in_one_event_each(index: Any) -> None:
    """Gemini's endpoint and some gateways send this: the first with ids, the second without ids."""
    assert calls(piece(index, "1", "read", TEXT_A), piece(index, "2", "write", TEXT_B)) == TWO
    assert calls(piece(index, "1", "read", TEXT_A), piece(index, "2", "read", TEXT_B)) == SAME
    assert calls(piece(index, "", "read", TEXT_A), piece(index, "", "write", TEXT_B)) == NO_IDS
    assert calls(piece(index, "", "read", TEXT_A), piece(index, "", "read", TEXT_B)) == [
        (None, "read", A),
        (None, "read", B),
    ]
    assert calls(piece(index, "1", "list", ""), piece(index, "2", "write", TEXT_B)) == [
        ("1", "list", {}),
        ("2", "write", B),
    ]


def test_interleaved_calls() -> None:
    first, second = split(TEXT_A, 6), split(TEXT_B, 12)
    by_index = [
        item
        for a, b in zip(first, second, strict=False)
        for item in (piece(0, arguments=a), piece(1, arguments=b))
    ]
    remaining_parts = [piece(1, arguments=part) for part in second[len(first) :]]
    remaining_parts += [piece(0, arguments=part) for part in first[len(second) :]]
    assert calls(piece(0, "1", "read"), piece(1, "2", "write"), *by_index, *remaining_parts) == TWO
    by_id = [
        piece(0, str(1 + item["index"]), None, **item["function"])
        for item in by_index + remaining_parts
    ]
    assert calls(piece(0, "1", "read"), piece(0, "2", "write"), *by_id) == TWO


def test_names_and_ids_that_each_piece_repeats() -> None:
    """The pieces repeat the id, the name, or both, or have a new id."""
    parts = split(TEXT_B)
    expected = [("1", "write", B)]
    assert calls(*(piece(0, "1", "write", part) for part in parts)) == expected
    assert calls(piece(0, "1", "write"), *(piece(0, "1", "", part) for part in parts)) == expected
    assert (
        calls(piece(0, "1", "write"), *(piece(0, "", "write", part) for part in parts)) == expected
    )
    assert calls(*(piece(0, str(n), "write", part) for n, part in enumerate(parts, 1))) == expected
    assert (
        calls(
            piece(0, "1", "write"),
            *(piece(0, str(n), None, part) for n, part in enumerate(parts, 2)),
        )
        == expected
    )
    assert calls(*(piece(n, "1", "write", part) for n, part in enumerate(parts))) == expected
    assert calls(piece(0, "1", "write"), *(piece(n, "", "", p) for n, p in enumerate(parts))) == (
        expected
    )
    assert calls(piece(0, "1", "write", TEXT_B), piece(0, "1", "write", "")) == expected
    assert calls(piece(0, None, "write", TEXT_B), piece(0, None, "write", "")) == [
        (None, "write", B)
    ]


def test_one_id_for_all_calls() -> None:
    """Some servers take the id of a call from the reply."""
    constant = [(values[0] and "x", *values[1:]) for values in TWO]
    assert calls(*streamed(0, "x", "read", TEXT_A), *streamed(1, "x", "write", TEXT_B)) == constant
    assert calls(*streamed(0, "x", "read", TEXT_A), *streamed(1, "x", "read", TEXT_B)) == [
        ("x", "read", A),
        ("x", "read", B),
    ]
    assert calls(piece(0, "x", "read", TEXT_A), piece(0, "x", "write", TEXT_B)) == constant


@pytest.mark.parametrize(
    "parts", [("get_", "weather"), ("get_weather", ""), ("get_", "get_weather")]
)
@pytest.mark.parametrize("id_", ["1", None])
def test_names_come_in_pieces_or_again(parts: Sequence[str], id_: str | None) -> None:
    name_pieces = [piece(0, id_, part) for part in parts]
    assert calls(*name_pieces, *(piece(0, None, None, text) for text in split(TEXT_A))) == [
        (id_, "get_weather", A)
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        [A],
        [TEXT_A, TEXT_A],
        [*split(TEXT_A), TEXT_A],
        ["{}", TEXT_A],
        ["{}", *split(TEXT_A)],
        [TEXT_A[:3], TEXT_A[:9], TEXT_A],
        ["", A],
        [*split(TEXT_A), A],
        [None, TEXT_A, None],
    ],
    ids=str,
)
def test_arguments_come_as_an_object_or_more_than_once(arguments: Sequence[Any]) -> None:
    begin = piece(0, "1", "read")
    later_pieces = [{"index": 0, "function": {"arguments": value}} for value in arguments]
    assert calls(begin, *later_pieces) == [("1", "read", A)]


@pytest.mark.parametrize(
    "text", ['{"path": "a', '{"path": {}', TEXT_A + TEXT_B, "[1]", '{"a": {}{}']
)
def test_arguments_that_are_not_an_object_stay_unchanged(text: str) -> None:
    for parts in ([text], split(text, 3)):
        ((_, _, actual),) = calls(piece(0, "1", "read"), *(piece(0, arguments=p) for p in parts))
        assert actual == {MALFORMED: text}


def test_missing_parts_of_a_call() -> None:
    null = {"index": 0, "id": "1", "type": None, "function": {"name": "read", "arguments": TEXT_A}}
    assert calls(null) == calls({**null, "function": None}, null) == [("1", "read", A)]
    assert calls({"index": 0, "id": "1", "name": "read", "arguments": TEXT_A}) == [("1", "read", A)]
    assert calls([None, null]) == [("1", "read", A)]
    assert calls(null, piece(0, "7", None, ""), piece(1, "", "", "")) == [("1", "read", A)]


def assembled(protocol: StreamProtocol, *events: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    assembler = protocol.assembler()
    for event in events:
        assembler.feed(event)
    reply = assembler.result()
    assert protocol.is_reply(reply)
    return reply, assembler.is_complete


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


def test_openai_a_complete_message_in_a_chunk() -> None:
    call = piece(None, "1", "read", TEXT_A)
    full_message = {"role": "assistant", "content": "Hello", "tool_calls": [call]}
    for before in (
        [],
        [chunk({"content": "Hel"}), chunk({"content": "lo"})],
        [chunk({"tool_calls": [call]})],
    ):
        reply, is_complete = assembled(OPENAI, *before, chunk({}, message=full_message))
        message = reply["choices"][0]["message"]
        assert (message["content"], len(message["tool_calls"]), is_complete) == ("Hello", 1, True)


def test_openai_a_call_in_the_older_field_function_call() -> None:
    pieces = [{"name": "read"}, *({"arguments": part} for part in split(TEXT_A))]
    reply, _ = assembled(
        OPENAI, *(chunk({"function_call": function_call}) for function_call in pieces)
    )
    (call,) = reply["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "read", "arguments": TEXT_A}


def test_openai_usage_in_the_choice_and_a_null_index() -> None:
    event = {"choices": [{"index": None, "delta": {"content": "x"}, "usage": {"total_tokens": 3}}]}
    assert assembled(OPENAI, event)[0]["usage"] == {"total_tokens": 3}


def test_openai_content_in_parts() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    text = {"type": "text", "text": "Hi"}
    reply, _ = assembled(
        OPENAI, chunk({"content": ""}), chunk({"content": [thought, text]}), chunk({"content": "!"})
    )
    message = reply["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("Hi!", "Hm.")


def test_openai_an_error_in_a_choice_is_an_error() -> None:
    error = {"code": 502, "message": "upstream broke"}
    with pytest.raises(ModelUnavailable, match="upstream broke"):
        assembled(OPENAI, chunk({"content": "x"}, "error", error=error))


START = {"type": "message_start", "message": {"type": "message", "role": "assistant", "id": "m"}}
END = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}


def block(index: Any, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: Any, type_: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": type_, **more}}


def use(index: Any, id_: str, arguments: Any) -> dict[str, Any]:
    return block(index, type="tool_use", id=id_, name="read", input=arguments)


@pytest.mark.parametrize(
    "events",
    [
        [use(0, "1", A), use(1, "2", B)],
        [use(0, "1", A), use(0, "2", B)],
        [use(None, "1", TEXT_A), use(None, "2", TEXT_B)],
        [use(0, "1", A), delta(0, "input_json_delta", partial_json=""), use(1, "2", B)],
        [
            *(use(0, "1", {}), use(0, "1", {})),
            delta(0, "input_json_delta", partial_json=TEXT_A),
            use(0, "2", {}),
            delta(0, "input_json_delta", partial_json=TEXT_B),
        ],
        [use(1, "1", {}), use(2, "2", {})]
        + [delta(2, "input_json_delta", partial_json=part) for part in split(TEXT_B)]
        + [delta(1, "input_json_delta", partial_json=part) for part in split(TEXT_A)],
    ],
    ids=["whole", "one index", "no index, text", "whole with a delta", "again", "interleaved"],
)
def test_anthropic_calls(events: Sequence[Any]) -> None:
    noise = [{"type": "ping"}, {"type": "news", "x": 1}, delta(0, "news", x=1)]
    reply, is_complete = assembled(ANTHROPIC, START, *noise, *events, *noise, END)
    assert [(block["id"], block["input"]) for block in reply["content"]] == [("1", A), ("2", B)]
    assert is_complete


def test_anthropic_events_that_are_left_out() -> None:
    reply, _ = assembled(
        ANTHROPIC, delta(0, "text_delta", text="Hel"), delta(0, "text_delta", text="lo")
    )
    assert reply["content"] == [{"type": "text", "text": "Hello"}]
    assert (reply["type"], reply["role"]) == ("message", "assistant")
    full_message = {"type": "message", "content": [{"type": "text", "text": "Hello"}], "id": "m"}
    reply, is_complete = assembled(ANTHROPIC, full_message)
    assert (reply["content"], is_complete) == (full_message["content"], True)
    with pytest.raises(LookupError):
        assembled(ANTHROPIC, START, delta(0, "input_json_delta", partial_json="{}"))
    with pytest.raises(ModelError, match="no room"):
        assembled(ANTHROPIC, START, {"error": {"type": "overloaded_error", "message": "no room"}})


def test_anthropic_arguments_that_are_no_json() -> None:
    reply, _ = assembled(
        ANTHROPIC, START, use(0, "1", {}), delta(0, "input_json_delta", partial_json='{"')
    )
    assert reply["content"][0]["input"] == {MALFORMED: '{"'}


def gemini(*parts: Any, **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, **candidate}]}


def test_gemini_calls_and_parts() -> None:
    reply, is_complete = assembled(
        GEMINI,
        {"promptFeedback": {}},
        gemini({}, {"text": None}, {"text": "Hel"}, {"text": "lo"}, {"thought": True}),
        gemini({"functionCall": {"name": "read", "id": "1"}}),
        gemini({"functionCall": {"args": {"path": "a"}}, "thoughtSignature": "s"}),
        gemini({"functionCall": {"name": "write", "args": TEXT_B}}),
        gemini({"text": "", "thoughtSignature": "t"}),
        {"candidates": [{"content": None, "finishReason": "STOP"}]},
        {"candidates": None, "usageMetadata": {"promptTokenCount": 1}},
    )
    (candidate,) = reply["candidates"]
    assert candidate["content"]["parts"] == [
        {"text": "Hello"},
        {"functionCall": {"name": "read", "id": "1", "args": A}, "thoughtSignature": "s"},
        {"functionCall": {"name": "write", "args": B}},
        {"text": "", "thoughtSignature": "t"},
    ]
    assert (candidate["finishReason"], is_complete) == ("STOP", True)
    assert reply["usageMetadata"] == {"promptTokenCount": 1}


def test_gemini_ratings_of_the_prompt_do_not_end_the_reply() -> None:
    event = {**gemini({"text": "Hel"}), "promptFeedback": {"safetyRatings": []}}
    assert not assembled(GEMINI, event)[1]


def test_ollama_calls() -> None:
    def line(call: Any, **more: Any) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": "", "tool_calls": [call]}, **more}

    reply, is_complete = assembled(
        OLLAMA,
        line({"function": {"name": "read", "arguments": TEXT_A}}, done=False),
        {"message": {"thinking": "Hm.", "content": None}},
        line({"name": "write", "arguments": B}),
        line({"function": {"name": "list", "arguments": None}}, done_reason="stop"),
        {"eval_count": 3},
    )
    functions = [call["function"] for call in reply["message"]["tool_calls"]]
    assert [(function["name"], unwrapped(function["arguments"])) for function in functions] == [
        ("read", A),
        ("write", B),
        ("list", {}),
    ]
    assert (reply["message"]["thinking"], is_complete) == ("Hm.", True)
