"""CallKey: the position of a call in the graph; and digests of a call's input."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.runtime import ExecutionInfo

from agents.history import replies
from agents.ports import CallKey

PER_REPLY = 1_000
"""Ordinals for one reply of the model and its tool calls."""


def call_key(info: ExecutionInfo | None, ordinal: int = 0) -> CallKey:
    """The key of the current graph task. The same after a crash: LangGraph derives a task's id from
    the checkpoint that it starts from."""
    if info is None:
        raise RuntimeError("not inside a node of the graph")
    namespace, _, _ = info.checkpoint_ns.rpartition("|")
    return CallKey(namespace, info.task_id, ordinal)


def for_call(outer: CallKey, reply: int, offset: int = 0) -> CallKey:
    """The key of a call inside one pass of the executor; `outer` is the key of the pass.

    Calls are counted by the model's earlier replies and not by graph tasks. A pass has no
    checkpoints of its own: with these keys it finds its calls again when it starts again after a
    crash.
    """
    return CallKey(outer.namespace, outer.node, outer.ordinal + reply * PER_REPLY + offset)


def for_reply(state: Mapping[str, Any]) -> CallKey:
    """The key of the current reply in a pass of the executor."""
    return for_call(state["request"].pass_key, replies(state["messages"]))


def digest(*parts: Any) -> str:
    """Identifies an input: 16 hex digits of the sha256 of plain values."""
    written = json.dumps(parts, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(written.encode(errors="surrogatepass")).hexdigest()[:16]


def message_values(messages: Sequence[BaseMessage]) -> list[list[Any]]:
    """The content of messages as plain values, without ids and counts that differ between two
    calls."""
    return [
        [
            message.type,
            message.content,
            [[call["name"], call["args"]] for call in message.tool_calls]
            if isinstance(message, AIMessage)
            else message.tool_call_id
            if isinstance(message, ToolMessage)
            else None,
        ]
        for message in messages
    ]
