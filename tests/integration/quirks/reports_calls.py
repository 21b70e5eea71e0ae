"""Streamed tool calls: indices, ids, names and pieces as servers send them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support.quirks.edits import each_call_part, each_delta, finish, with_calls
from support.quirks.quirk import (
    Event,
    Quirk,
    ReceivedRequest,
    Sent,
    When,
    each_event,
    first_call,
    plays,
    refuses,
    role,
    says,
    second_call,
    sends,
)
from support.quirks.row import WIRES, Ran, Row, anthropic, gemini, ollama, on_all, openai
from support.quirks.server import CODE, calls, competent

from lab.provider import Refusal, Reply, ToolCall, Turn

_OTHER = "print(6 + 36)"
_BOTH = (CODE, _OTHER)


def two_calls(received: ReceivedRequest) -> Turn:
    """A model that makes two calls in one reply."""
    turn = competent(received)
    if received.role == "executor" and isinstance(turn, Reply) and turn.tool_calls:
        return replace(turn, tool_calls=tuple(ToolCall("python", {"code": c}) for c in _BOTH))
    return turn


def reading_critic(received: ReceivedRequest) -> Turn:
    """A model that reads a file as the critic, before its verdict."""
    if received.role == "critic" and not received.has_result:
        return Reply(tool_calls=(ToolCall("read_file", {"path": "note.txt"}),))
    return competent(received)


def _critic_has_read(ran: Ran) -> bool:
    used = ran.events("tool_used")
    return [(used_tool.get("by"), used_tool["tool"], used_tool["ok"]) for used_tool in used] == [
        ("critic", "read_file", True)
    ]


def _two(title: str, *quirks: Quirk, **more: Any) -> Row:
    return openai(title, *quirks, model=two_calls, programs=_BOTH, **more)


Part = dict[str, Any]


def _parts(*parts: Part, finish_reason: str | None = "tool_calls") -> Quirk:
    """The executor's first call is sent as just these parts, one a chunk."""

    def edit(sent: Sent) -> Sent:
        head, *_, last = [item for item in sent.items if isinstance(item, dict)]
        chunks = []
        for part in parts:
            chunk = json.loads(json.dumps(head))
            chunk["choices"][0]["delta"] = {"tool_calls": [part]}
            chunks.append(chunk)
        end = json.loads(json.dumps(head))
        end["choices"][0] = {"index": 0, "delta": {}, "finish_reason": finish_reason}
        return replace(sent, items=[head, *chunks, end, last, "[DONE]"])

    return sends(edit, first_call)


def _part(
    arguments: str | None = None,
    name: str | None = None,
    index: Any = ...,
    id: str | None = None,  # noqa: A002 - the field's name
) -> Part:
    function: Part = {} if arguments is None else {"arguments": arguments}
    function |= {} if name is None else {"name": name}
    part: Part = {"type": "function", "function": function}
    part |= {} if index is ... else {"index": index}
    return part if id is None else {**part, "id": id}


def _args(code: str = CODE) -> str:
    return json.dumps({"code": code})


_HALF, _REST = _args()[:9], _args()[9:]


def _without(*names: str) -> Callable[[Part], None]:
    def edit(part: Part) -> None:
        for name in names:
            part.pop(name, None)

    return edit


def _with(**fields: Any) -> Callable[[Part], None]:
    return lambda part: part.update(fields)


def _whole_calls(*, index: Any) -> Quirk:
    """Each call arrives whole, in one part of a chunk; all have the same index."""

    def edit(sent: Sent) -> Sent:
        items: list[Any] = []
        by_index: dict[int, Part] = {}
        for item in sent.items:
            choices = item.get("choices") if isinstance(item, dict) else None
            parts = choices[0]["delta"].get("tool_calls") if choices else None
            if not parts:
                items.append(item)
                continue
            part = parts[0]
            if (stored := by_index.get(part["index"])) is None:
                by_index[part["index"]] = part
                items.append(item)
            else:
                stored["function"]["arguments"] += part["function"]["arguments"]
        for part in by_index.values():
            if index is ...:
                del part["index"]
            else:
                part["index"] = index
        return replace(sent, items=items)

    return sends(edit)


def _in_one_chunk(sent: Sent) -> Sent:
    """All calls are in the first chunk, as a list, and the finish reason in the same chunk."""
    parts: dict[int, Part] = {}
    for item in sent.items:
        choices = item.get("choices") if isinstance(item, dict) else None
        for part in (choices[0]["delta"].get("tool_calls") or ()) if choices else ():
            if part["index"] in parts:
                parts[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
            else:
                parts[part["index"]] = part
    if not parts:
        return sent
    head, *tail = sent.items
    assert isinstance(head, dict)
    head["choices"][0]["delta"]["tool_calls"] = list(parts.values())
    head["choices"][0]["finish_reason"] = "tool_calls"
    last = [item for item in tail if isinstance(item, dict) and item.get("usage")]
    return replace(sent, items=[head, *last, "[DONE]"])


def _interleaved(sent: Sent) -> Sent:
    """The parts of two calls take turns."""

    def index(item: Any) -> Any:
        choices = item.get("choices") if isinstance(item, dict) else None
        parts = choices[0]["delta"].get("tool_calls") if choices else None
        return parts[0]["index"] if parts else None

    first = [item for item in sent.items if index(item) == 0]
    two = [item for item in sent.items if index(item) == 1]
    if not two:
        return sent
    start = next(position for position, item in enumerate(sent.items) if index(item) is not None)
    mixed: list[Any] = []
    for position in range(max(len(first), len(two))):
        mixed += [*first[position : position + 1], *two[position : position + 1]]
    return replace(sent, items=[*sent.items[:start], *mixed, *sent.items[start + len(mixed) :]])


def _named_call(name: str, when: When = first_call) -> Quirk:
    """The model calls its tool by another name."""
    return says(with_calls(lambda call: replace(call, name=name)), when)


def _id(value: str) -> Quirk:
    return says(with_calls(lambda call: replace(call, id=value)), role("executor"))


def _wrong_once(call: ToolCall) -> Callable[[ReceivedRequest], Turn]:
    """A model that makes this call first, and then does its job."""
    return calls(call, ToolCall("python", {"code": CODE}))


_PARALLEL = ToolCall(
    "multi_tool_use.parallel",
    {"tool_uses": [{"recipient_name": "functions.python", "parameters": {"code": CODE}}]},
)
_SIGNED = "call_1__thought__" + "QUJDREVG" * 60


def _same_id(received: ReceivedRequest) -> bool:
    """Whether the long id is not sent back unchanged."""
    sent = [
        call["id"]
        for message in received.body["messages"]
        for call in message.get("tool_calls") or ()
    ]
    return any(sent_id != _SIGNED for sent_id in sent)


def _at_most_once(ran: Ran) -> bool:
    return len(ran.programs) == 1


def _rewritten(old: str, new: str) -> Quirk:
    """Other JSON in each event."""
    return each_event(lambda event: json.loads(json.dumps(event).replace(old, new)))


# Anthropic's events.


def _block_events(edit: Callable[[Event], Any], *types: str) -> Quirk:
    return each_event(lambda event: edit(event) if event["type"] in types else event)


def _all_in_the_start(sent: Sent) -> Sent:
    """A gateway sends a call's arguments with its start, and no deltas."""
    inputs: dict[int, str] = {}
    for item in sent.items:
        if isinstance(item, dict) and item["type"] == "content_block_delta":
            text = item["delta"].get("partial_json")
            if text is not None:
                inputs[item["index"]] = inputs.get(item["index"], "") + text
    items = []
    for item in sent.items:
        if isinstance(item, dict) and item["type"] == "content_block_delta":
            if item["index"] in inputs:
                continue
        elif isinstance(item, dict) and item.get("index") in inputs and "content_block" in item:
            item["content_block"]["input"] = json.loads(inputs[item["index"]])
        items.append(item)
    return replace(sent, items=items)


def _index_0(event: Event) -> Event:
    if "index" in event:
        event["index"] = 0
    return event


# Gemini's parts.


def _gemini_parts(edit: Callable[[dict[str, Any]], Any], when: When = first_call) -> Quirk:
    def of_event(event: Event) -> Event:
        for candidate in event.get("candidates") or ():
            candidate["content"]["parts"] = [
                edited
                for part in candidate["content"]["parts"]
                for edited in (edit(part) if isinstance(edit(part), list) else [edit(part)])
            ]
        return event

    return each_event(of_event, when)


def _one_part_an_event(sent: Sent) -> Sent:
    items: list[Any] = []
    for item in sent.items:
        parts = item["candidates"][0]["content"]["parts"] if isinstance(item, dict) else []
        items += [
            {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}
            for part in parts[:-1]
        ]
        if len(parts) > 1 and isinstance(item, dict):
            item["candidates"][0]["content"]["parts"] = parts[-1:]
        items.append(item)
    return replace(sent, items=items)


# Ollama's lines.


def _ollama_calls(edit: Callable[[dict[str, Any]], Any], when: When = first_call) -> Quirk:
    def of_line(line: Event) -> Event:
        for call in line["message"].get("tool_calls") or ():
            edit(call)
        return line

    return each_event(of_line, when)


def _each_call_a_line(line: Event) -> Any:
    calls = line["message"].get("tool_calls") or []
    if len(calls) < 2:
        return line
    return [{**line, "message": {**line["message"], "tool_calls": [call]}} for call in calls]


def _crosses(first: Any, second: str, *quirks: Quirk) -> Row:
    """A conversation that begins with one wire format and goes on with another."""
    row: Row = first(
        f"a conversation goes on with {second.partition(':')[0]}",
        *quirks,
        says(
            lambda reply: replace(
                reply, thoughts="Hm.", text=" " if reply.tool_calls else reply.text
            )
        ),
        plays(second_call, Refusal(401, "Invalid API Key")),
        stand_in=(),
        stand_in_name=second,
    )
    return row


_OTHERS = (
    "openai:gpt-4.1-mini",
    "anthropic:claude-haiku-4-5",
    "google_genai:gemini-2.5-flash",
    "ollama:qwen3:8b",
)


def _own_choice(event: Event) -> Event:
    for choice in event.get("choices") or ():
        choice["index"] = int("tool_calls" in choice["delta"])
    return event


def _not_listed(delta: dict[str, Any]) -> None:
    if calls := delta.get("tool_calls"):
        [delta["tool_calls"]] = calls


def _renamed(name: str) -> Callable[[dict[str, Any]], Any]:
    def edit(part: dict[str, Any]) -> None:
        function = part["function"]
        function[name] = function.pop("arguments")

    return edit


def _prefixed(part: dict[str, Any]) -> dict[str, Any]:
    if call := part.get("functionCall"):
        call["name"] = f"default_api:{call['name']}"
    return part


def _null_first(event: Event) -> list[Event]:
    if event.get("delta", {}).get("type") != "input_json_delta":
        return [event]
    return [{**event, "delta": {"type": "input_json_delta", "partial_json": None}}, event]


ROWS: list[Row] = [
    *on_all("the critic reads before its verdict", model=reading_critic, check=_critic_has_read),
    openai(
        "the critic's calls all have one id",
        each_call_part(lambda part: part.update(id="call_1") if part.get("id") else None),
        model=reading_critic,
        check=_critic_has_read,
    ),
    *on_all("two calls in one reply", model=two_calls, programs=_BOTH),
    _two("two whole calls have the index 0 (Gemini's endpoint)", _whole_calls(index=0)),
    _two("two whole calls have a null index", _whole_calls(index=None)),
    _two("two whole calls have no index", _whole_calls(index=...)),
    _two("two calls in pieces have a null index", each_call_part(_with(index=None))),
    _two("two calls in pieces have no index", each_call_part(_without("index"))),
    _two("two calls in pieces have the index 0", each_call_part(_with(index=0))),
    _two("two calls take turns, piece by piece", sends(_interleaved)),
    _two("two calls are in the first chunk, with the finish reason", sends(_in_one_chunk)),
    _two(
        "indices begin with 1",
        each_call_part(lambda part: part.update(index=part["index"] + 1)),
    ),
    _two(
        "indices are texts",
        each_call_part(lambda part: part.update(index=str(part["index"]))),
    ),
    openai(
        "a call in pieces has no index",
        each_call_part(_without("index")),
    ),
    openai("a call in pieces has a null index", each_call_part(_with(index=None))),
    openai(
        "a name comes in two pieces",
        _parts(
            _part("", "pyt", 0, "call_1"),
            _part("", "hon", 0),
            _part(_HALF, None, 0),
            _part(_REST, None, 0),
        ),
    ),
    openai(
        "a name comes in two pieces, the second with an empty id",
        _parts(
            _part("", "pyt", 0, "call_1"),
            _part("", "hon", 0, ""),
            _part(_args(), None, 0, ""),
        ),
    ),
    openai(
        "the name is repeated in each piece",
        _parts(_part(_HALF, "python", 0, "call_1"), _part(_REST, "python", 0, "call_1")),
    ),
    openai(
        "the name is empty in later pieces",
        _parts(_part(_HALF, "python", 0, "call_1"), _part(_REST, "", 0, "call_1")),
    ),
    openai(
        "the name comes after the arguments",
        _parts(_part(_args(), None, 0, "call_1"), _part("", "python", 0)),
    ),
    openai(
        "the id comes last",
        _parts(_part(_HALF, "python", 0), _part(_REST, None, 0), _part("", None, 0, "call_9")),
    ),
    openai(
        "each piece has another id",
        _parts(_part(_HALF, "python", 0, "call_1"), _part(_REST, "", 0, "call_2")),
    ),
    openai(
        "later pieces have null names and ids",
        _parts(
            _part("", "python", 0, "call_1"),
            {"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": _HALF}},
            {"index": 0, "function": {"arguments": _REST}},
        ),
    ),
    openai(
        "arguments are null in the first piece",
        _parts(
            {"index": 0, "id": "c1", "function": {"name": "python", "arguments": None}},
            _part(_args(), None, 0),
        ),
    ),
    openai(
        "arguments are an object",
        _parts(
            {"index": 0, "id": "c1", "function": {"name": "python", "arguments": {"code": CODE}}}
        ),
    ),
    openai(
        "an empty object comes before the arguments",
        _parts(_part("{}", "python", 0, "c1"), _part(_args(), None, 0)),
    ),
    openai("parts have no type", each_call_part(_without("type"))),
    openai("ids are missing", each_call_part(_without("id"))),
    openai("ids are empty", _id("")),
    openai("ids are null", each_call_part(lambda part: part.update(id=None))),
    openai(
        "each reply repeats its id",
        _id("call_0"),
        model=calls(ToolCall("list_dir", {}), ToolCall("python", {"code": CODE})),
    ),
    openai("two calls have one id", _id("call_0"), model=two_calls, programs=_BOTH),
    openai("two calls have an empty id", _id(""), model=two_calls, programs=_BOTH),
    openai("ids have characters that a strict server refuses", _id("functions.python:0")),
    openai(
        "ids are too long for a strict server",
        _id("x" * 200),
    ),
    openai(
        "a long id with a signature is sent back to its own server as it was",
        _id(_SIGNED),
        refuses(_same_id, 400, "Function call is missing a thought_signature"),
        strict=False,
    ),
    openai(
        "a stand-in takes ids of nine letters and digits alone (Mistral)",
        plays(second_call, Refusal(401, "Invalid API Key")),
        stand_in=[
            refuses(
                lambda received: any(
                    not re.fullmatch("[a-zA-Z0-9]{9}", call["id"])
                    for message in received.body["messages"]
                    for call in message.get("tool_calls") or ()
                ),
                400,
                "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            )
        ],
    ),
    openai(
        "Kimi's ids are sent back as they were",
        _id("functions.python:0"),
        refuses(
            lambda received: (
                received.has_result
                and received.role == "executor"
                and "functions.python:0" not in json.dumps(received.body["messages"])
            ),
            400,
            "tool_call_id is not found",
        ),
        strict=False,
    ),
    openai(
        "tool_calls is null beside a text",
        each_delta(lambda delta: delta.setdefault("tool_calls", None)),
    ),
    openai(
        "tool_calls is an empty list beside a text",
        each_delta(lambda delta: delta.setdefault("tool_calls", [])),
    ),
    openai("calls end with the finish reason stop", finish("stop")),
    openai("calls end with the finish reason tool_call", finish("tool_call", first_call)),
    openai("calls end with the finish reason function_call", finish("function_call", first_call)),
    openai(
        "calls end with a null finish reason and [DONE]",
        _parts(_part(_args(), "python", 0, "c1"), finish_reason=None),
    ),
    openai(
        "the content of a call is an empty text",
        each_delta(lambda delta: delta.setdefault("content", "")),
    ),
    openai("the role is repeated in each chunk", each_delta(_with(role="assistant"))),
    openai("the role is empty or null", each_delta(_with(role=None))),
    openai(
        "messages are in `message`, not in `delta`",
        each_event(
            lambda event: {
                **event,
                "choices": [
                    {
                        **{k: v for k, v in choice.items() if k != "delta"},
                        "message": choice["delta"],
                    }
                    for choice in event["choices"]
                ],
            }
        ),
    ),
    *on_all("a name has the prefix functions.", _named_call("functions.python")),
    *on_all("a name has a harmony channel", _named_call("python<|channel|>commentary")),
    *on_all("a name has a harmony constraint", _named_call("python<|constrain|>json")),
    *on_all("a name has blanks around it", _named_call(" python\n")),
    gemini("a name has the prefix default_api", _named_call("default_api:python")),
    gemini("a name has the prefix default_api and a dot", _named_call("default_api.python")),
    *on_all("a name is empty, once", model=_wrong_once(ToolCall("", {"code": CODE}))),
    *on_all("a name is of no tool, once", model=_wrong_once(ToolCall("run_code", {"code": CODE}))),
    *on_all(
        "a name has a dot and is of no tool, once",
        model=_wrong_once(ToolCall("os.system", {"command": "ls"})),
    ),
    *on_all(
        "a name is longer than a strict server takes, once",
        model=_wrong_once(ToolCall("x" * 100, {})),
    ),
    *on_all("multi_tool_use.parallel", model=_wrong_once(_PARALLEL), check=_at_most_once),
    *on_all(
        "the bare name parallel",
        model=_wrong_once(replace(_PARALLEL, name="parallel")),
        check=_at_most_once,
    ),
    *on_all(
        "a blank text before the call",
        says(lambda reply: replace(reply, text="\n\n"), first_call),
    ),
    anthropic("a gateway sends the arguments with the start of the call", sends(_all_in_the_start)),
    anthropic("all blocks have the index 0", each_event(_index_0)),
    anthropic(
        "two calls have the index 0",
        each_event(_index_0),
        model=two_calls,
        programs=_BOTH,
    ),
    anthropic("blocks have no stop", _block_events(lambda _event: None, "content_block_stop")),
    anthropic("there is no message_stop", _block_events(lambda _event: None, "message_stop")),
    anthropic(
        "message_start has no usage",
        _block_events(
            lambda event: {
                "type": "message_start",
                "message": {
                    name: value for name, value in event["message"].items() if name != "usage"
                },
            },
            "message_start",
        ),
    ),
    anthropic(
        "calls end with the stop reason end_turn",
        _block_events(
            lambda event: {**event, "delta": {**event["delta"], "stop_reason": "end_turn"}},
            "message_delta",
        ),
    ),
    anthropic("ids are empty", _id("")),
    anthropic(
        "each reply repeats its id",
        _id("toolu_0"),
        model=calls(ToolCall("list_dir", {}), ToolCall("python", {"code": CODE})),
    ),
    anthropic("ids have characters that Claude refuses", _id("functions.python:0")),
    anthropic(
        "a delta of a kind that no client knows",
        _block_events(
            lambda event: [
                event,
                {
                    "type": "content_block_delta",
                    "index": event["index"],
                    "delta": {"type": "odd_delta", "odd": 1},
                },
            ],
            "content_block_start",
        ),
    ),
    anthropic(
        "an event of a kind that no client knows",
        _block_events(lambda event: [event, {"type": "odd_event"}], "message_start"),
    ),
    gemini(
        "two calls are in two events", sends(_one_part_an_event), model=two_calls, programs=_BOTH
    ),
    gemini(
        "a call has an id",
        _gemini_parts(
            lambda part: (
                {"functionCall": {**part["functionCall"], "id": "call-1"}}
                if "functionCall" in part
                else part
            )
        ),
    ),
    gemini("an empty text is beside the call", _gemini_parts(lambda part: [part, {"text": ""}])),
    gemini(
        "a call has no arguments",
        _rewritten('"name": "list_dir", "args": {}', '"name": "list_dir"'),
        model=calls(ToolCall("list_dir", {}), ToolCall("python", {"code": CODE})),
    ),
    ollama(
        "arguments are a text",
        _ollama_calls(
            lambda call: call["function"].update(
                arguments=json.dumps(call["function"]["arguments"])
            )
        ),
    ),
    ollama(
        "calls have an id and an index",
        _ollama_calls(lambda call: (call.update(id="call_1"), call["function"].update(index=0))),
    ),
    ollama(
        "two calls are in two lines", each_event(_each_call_a_line), model=two_calls, programs=_BOTH
    ),
    ollama(
        "a call has null arguments",
        _rewritten('"name": "list_dir", "arguments": {}', '"name": "list_dir", "arguments": null'),
        model=calls(ToolCall("list_dir", {}), ToolCall("python", {"code": CODE})),
    ),
    *[
        _crosses(wire, other_wire)
        for wire in WIRES
        for other_wire in _OTHERS
        if wire("").name.partition(":")[0] != other_wire.partition(":")[0]
    ],
    openai("the calls are in a choice of their own (Copilot)", each_event(_own_choice)),
    openai("a list of calls is one call", each_delta(_not_listed)),
    *[
        openai(f"the arguments are named {name}", each_call_part(_renamed(name)))
        for name in ("parameters", "input")
    ],
    gemini("names have the prefix default_api", _gemini_parts(_prefixed)),
    anthropic("a call begins with arguments of null", each_event(_null_first)),
]
