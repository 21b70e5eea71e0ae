"""The serializer of checkpoints and journal: it restores its values and refuses other bytes."""

from __future__ import annotations

import json
import pickle
import sys
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import ormsgpack
import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Command, Interrupt, Send
from support.graph.planted import EXTENSIONS, Planted, planted_extensions

from agents.calls.serializer import SERIALIZER
from agents.errors import StateUnreadable

CALL = {"name": "python", "args": {"code": "print(1)"}, "id": "call_1", "type": "tool_call"}
BROKEN = {"name": "python", "args": "{", "id": "x", "error": None, "type": "invalid_tool_call"}
STORED = [
    None,
    "text",
    b"bytes",
    {"a": [1, 2.5, None, True, {"b": "c"}], 1: "number"},
    HumanMessage("Hello."),
    SystemMessage("You are."),
    AIMessage(
        [{"type": "text", "text": "Done."}],
        tool_calls=[CALL],
        invalid_tool_calls=[BROKEN],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model_name": "m"},
        id="reply",
    ),
    ToolMessage("42", tool_call_id="call_1", artifact={"kind": "run_finished", "data": {}}),
    [Send("branch", {"step": 1})],
    (Interrupt({"plan": ["a"]}, id="1", response_schema={"type": "object"}),),
    _DeltaSnapshot([HumanMessage("Hello."), {"id": "r1"}]),
]


@pytest.mark.parametrize("value", STORED, ids=lambda value: type(value).__name__)
def test_a_stored_value_is_restored(value: Any) -> None:
    expected = list(value) if type(value) is tuple else value  # MessagePack has no tuples
    assert SERIALIZER.loads_typed(SERIALIZER.dumps_typed(value)) == expected


@pytest.mark.parametrize("value", STORED, ids=lambda value: type(value).__name__)
def test_releases_with_langgraph_s_serializer_share_the_format(value: Any) -> None:
    theirs = JsonPlusSerializer(allowed_msgpack_modules=None)
    expected = theirs.loads_typed(theirs.dumps_typed(value))
    assert SERIALIZER.loads_typed(theirs.dumps_typed(value)) == expected
    assert theirs.loads_typed(SERIALIZER.dumps_typed(value)) == expected


class Colour(StrEnum):
    RED = "red"


@dataclass
class Point:
    x: int


class Reply(AIMessage):
    """A class of another package."""


@pytest.mark.parametrize(
    "value",
    [
        Colour.RED,
        Point(1),
        Path("/etc"),
        Decimal(1),
        UUID(int=1),
        date(2026, 1, 1),
        datetime(2026, 1, 1, tzinfo=UTC),
        {1, 2},
        deque([1]),
        AIMessageChunk("part"),
        Reply("x"),
        Command(goto="x"),
        Send("x", {}, timeout=1),
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_could_not_be_restored_is_not_stored(value: Any) -> None:
    for stored in (value, [value], {"a": value}):
        with pytest.raises(TypeError):
            SERIALIZER.dumps_typed(stored)


@pytest.mark.parametrize("planted", planted_extensions(), ids=str)
def test_a_stored_call_of_an_importable_name_is_not_made(planted: Planted, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with pytest.raises(StateUnreadable):
        SERIALIZER.loads_typed(("msgpack", planted.bytes_for(marker)))
    assert not marker.exists()


@pytest.mark.parametrize("code", [*EXTENSIONS, 8, 64, 127])
def test_no_module_is_imported(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted_module.py").write_text("def call(*arguments, **fields): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    content = ormsgpack.packb(("planted_module", "call", {}, "call"))
    if code == 7:  # a snapshot contains a value
        content = ormsgpack.packb(ormsgpack.Ext(1, content))
    with pytest.raises(StateUnreadable):
        SERIALIZER.loads_typed(("msgpack", ormsgpack.packb(ormsgpack.Ext(code, content))))
    assert "planted_module" not in sys.modules


def nested(levels: int) -> bytes:
    content = ormsgpack.packb(1)
    for _ in range(levels):
        content = ormsgpack.packb(ormsgpack.Ext(7, content))
    return content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xc1",
        b"\x81",
        b"\x80 more",
        pickle.dumps([1]),
        json.dumps({"a": 1}).encode(),
        ormsgpack.packb({"a": 1})[:-1],
        b"\x91" * 5_000 + b"\x01",
        nested(5_000),
        ormsgpack.packb(ormsgpack.Ext(5, ormsgpack.packb(1))),
        ormsgpack.packb(ormsgpack.Ext(5, b"")),
        ormsgpack.packb(
            ormsgpack.Ext(5, ormsgpack.packb(["langchain_core.messages.ai", "AIMessage", {"x": 1}]))
        ),
        ormsgpack.packb(ormsgpack.Ext(1, ormsgpack.packb(["langgraph.types", "Send", ["x"]]))),
    ],
    ids=lambda content: repr(content[:12]),
)
def test_damaged_bytes_are_never_another_value(content: bytes) -> None:
    with pytest.raises(StateUnreadable):
        SERIALIZER.loads_typed(("msgpack", content))


@pytest.mark.parametrize("name", ["pickle", "json", "msgpack2", "", "x" * 1_000])
def test_other_formats_are_refused(name: str, tmp_path: Path) -> None:
    call = {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"]}
    with pytest.raises(StateUnreadable) as refused:
        SERIALIZER.loads_typed((name, json.dumps(call).encode()))
    assert len(str(refused.value)) < 200
