"""Arguments of calls that differ from their schema, and schemas that a server refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support.quirks.edits import with_calls
from support.quirks.quirk import (
    Quirk,
    ReceivedRequest,
    both,
    first,
    first_call,
    refuses,
    role,
    says,
)
from support.quirks.row import Ran, Row, anthropic, fails, gemini, ollama, on_all, openai
from support.quirks.server import CODE, calls

from lab.provider import Reply, ToolCall, Turn


def _args(args: Any) -> Quirk:
    """The executor's first call has these arguments."""
    return says(with_calls(lambda call: replace(call, args=args)), first_call)


def _as(edit: Callable[[Any], Any], *roles: str) -> Quirk:
    """Edit the arguments of all calls, or of the calls of these roles."""
    when = role(*roles) if roles else role("planner", "executor", "critic")
    return says(with_calls(lambda call: replace(call, args=edit(call.args))), when)


def _verdict(**fields: Any) -> Quirk:
    return says(
        with_calls(lambda call: replace(call, args={"verdict": "approve", **fields})),
        role("critic"),
    )


def _plan(steps: Any) -> Quirk:
    return says(with_calls(lambda call: replace(call, args={"steps": steps})), role("planner"))


def _then(*made: ToolCall) -> Any:
    """A model that makes these calls, and then its usual run."""
    return calls(*made, ToolCall("python", {"code": CODE}))


def _took(name: str) -> Callable[[Ran], bool]:
    """A check: no call of this tool was refused."""

    def check(ran: Ran) -> bool:
        used = [used_tool for used_tool in ran.events("tool_used") if used_tool["tool"] == name]
        return bool(used) and all(used_tool["ok"] for used_tool in used)

    return check


_NOTE = {"path": "more.txt", "content": "one\ntwo\n"}


def _reads(**more: Any) -> Any:
    return {
        "model": _then(ToolCall("read_file", {"path": "note.txt", **more})),
        "check": _took("read_file"),
    }


def _any_null(received: ReceivedRequest) -> bool:
    """Whether a schema allows null."""
    text = json.dumps(received.body.get("tools") or [])
    return '"anyOf"' in text or '"null"' in text or '"nullable"' in text


def _has_reference(received: ReceivedRequest) -> bool:
    text = json.dumps(received.body.get("tools") or [])
    return "$ref" in text or "$defs" in text


def _broken_once(text: str) -> Quirk:
    return says(lambda reply: _with_text(reply, text), both(first_call, first()))


def _with_text(reply: Reply, text: str) -> Turn:
    return replace(reply, tool_calls=tuple(replace(call, args=text) for call in reply.tool_calls))


ROWS: list[Row] = [
    *on_all("plan_steps is null", _args({"code": CODE, "plan_steps": None})),
    *on_all("plan_steps is a number as text", _args({"code": CODE, "plan_steps": "1"})),
    *on_all("plan_steps is a number", _args({"code": CODE, "plan_steps": 1})),
    *on_all("plan_steps is an array as text", _args({"code": CODE, "plan_steps": "[1]"})),
    *on_all("plan_steps has numbers as texts", _args({"code": CODE, "plan_steps": ["1"]})),
    *on_all("an unknown argument is beside the known ones", _args({"code": CODE, "why": "x"})),
    *on_all("an optional number is null", **_reads(offset=None, limit=None)),
    *on_all("numbers are texts", **_reads(offset="1", limit="2")),
    *on_all("numbers are floats", **_reads(offset=1.0, limit=2.0)),
    *on_all("optional arguments are empty texts", **_reads(offset="", limit="")),
    *on_all(
        "a truth value is a text",
        model=_then(ToolCall("write_file", {**_NOTE, "append": "false"})),
        end=fails("nothing to run"),
        check=_took("write_file"),
    ),
    *on_all(
        "a truth value is null",
        model=_then(ToolCall("write_file", {**_NOTE, "append": None})),
        end=fails("nothing to run"),
        check=_took("write_file"),
    ),
    *on_all("the plan's steps are an array as text", _plan('["Run it."]')),
    *on_all("the plan's steps are one text", _plan("Run it."), plan="default"),
    *on_all(
        "the plan's steps are a list of lines", _plan("1. Write it.\n2. Run it."), plan="default"
    ),
    *on_all(
        "the verdict's optional fields are null", _verdict(runs=None, unmet=None, feedback=None)
    ),
    *on_all("the verdict's lists are texts", _verdict(runs='["r1"]', unmet="[]")),
    *on_all("the verdict's runs are one text", _verdict(runs="r1", unmet="none")),
    *on_all("the verdict's run is a number", _verdict(runs=1)),
    *on_all("the verdict's criteria are texts", _verdict(unmet=["No sum."]), end=fails("no sum")),
    *on_all(
        "the verdict's criterion is one object",
        _verdict(unmet={"criterion": "No sum.", "location": "a.py:1", "reason": "r"}),
        end=fails("no sum"),
    ),
    openai("all arguments are twice encoded", _as(lambda args: json.dumps(json.dumps(args)))),
    anthropic("all arguments are twice encoded", _as(lambda args: json.dumps(json.dumps(args)))),
    ollama("all arguments are a JSON text", _as(json.dumps)),
    ollama("all arguments are twice encoded", _as(lambda args: json.dumps(json.dumps(args)))),
    openai("arguments are within a fence", _args(f"```json\n{json.dumps({'code': CODE})}\n```")),
    openai("arguments have blanks around them", _args(f"\n  {json.dumps({'code': CODE})} \n")),
    openai(
        "arguments have raw line feeds in their texts",
        _args('{"code": "print(6 * 7)",\n "plan_steps": [\n1\n]}'),
    ),
    openai(
        "arguments end with a control token, once",
        _broken_once(json.dumps({"code": CODE}) + "<|im_end|>"),
    ),
    openai("arguments are half a JSON object, once", _broken_once('{"code": "print(6')),
    openai("arguments are an empty text, once", _broken_once("")),
    openai("arguments are null as text, once", _broken_once("null")),
    openai("arguments are a JSON array, once", _broken_once("[1, 2]")),
    anthropic("arguments are half a JSON object, once", _broken_once('{"code": "print(6')),
    anthropic("arguments are a JSON array, once", _broken_once("[1, 2]")),
    ollama("arguments are half a JSON object, once", _broken_once('{"code": "print(6')),
    gemini("arguments are half a JSON object, once", _broken_once('{"code": "print(6')),
    *on_all("a required argument is missing, once", model=_then(ToolCall("python", {}))),
    *on_all("a required argument is null, once", model=_then(ToolCall("python", {"code": None}))),
    *on_all("a text is a list, once", model=_then(ToolCall("python", {"code": [1, {"a": 2}]}))),
    *on_all(
        "a number is a word, once",
        model=_then(ToolCall("read_file", {"path": "note.txt", "offset": "first"})),
    ),
    *on_all(
        "a number is out of its bounds, once",
        model=_then(ToolCall("read_file", {"path": "note.txt", "offset": -5})),
    ),
    *on_all(
        "a schema with anyOf or null is refused",
        refuses(_any_null, 400, "tools.0: schema: anyOf with null is not supported"),
    ),
    *on_all(
        "a schema with references is refused",
        refuses(_has_reference, 400, "tools.0: schema: $ref is not supported"),
    ),
    *on_all(
        "the plan has a step too many, once",
        says(
            lambda _reply: Reply(tool_calls=(ToolCall("Plan", {"steps": ["x"] * 12}),)),
            both(role("planner"), first()),
        ),
    ),
    *on_all(
        "the verdict is of another kind, once",
        says(
            lambda _reply: Reply(tool_calls=(ToolCall("Verdict", {"verdict": "perhaps"}),)),
            both(role("critic"), first()),
        ),
    ),
    *on_all(
        "the verdict is always of another kind: the reason is named",
        says(
            lambda _reply: Reply(tool_calls=(ToolCall("Verdict", {"verdict": "perhaps"}),)),
            role("critic"),
        ),
        end=fails("critic's reply could not be read"),
    ),
]
