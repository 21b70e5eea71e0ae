"""The tool calls of a reply, each with a unique id. Pure.

Some servers send several calls with one id, or with none. The order of calls, their keys in the
journal and the pairing of answers all need unique ids.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall

from agents.models.replies.ending import MALFORMED, cut_off
from agents.models.replies.fields import unique_ids
from agents.texts import head_and_tail

CUT_SHOWN = 2_000
"""Characters that stay of a reply that was cut off: every later request repeats them."""


def with_all_calls(message: AIMessage) -> AIMessage:
    """`message` with its broken calls among its calls, each with a unique id, so that each gets an
    answer."""
    if not message.invalid_tool_calls:
        return with_unique_ids(message)
    most = CUT_SHOWN if cut_off(message) else None
    broken = [_as_call(call, index, most) for index, call in enumerate(message.invalid_tool_calls)]
    calls = [*message.tool_calls, *broken]
    return with_unique_ids(
        message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})
    )


def _as_call(call: InvalidToolCall, index: int, most: int | None) -> ToolCall:
    args = call["args"] or ""
    return ToolCall(
        name=call["name"] or "unnamed",
        args={MALFORMED: args if most is None else head_and_tail(args, most)},
        id=call["id"] or f"broken_{index}",
        type="tool_call",
    )


def with_unique_ids(message: AIMessage) -> AIMessage:
    """`message` with a unique id for each of its calls. A missing or repeated id is derived from
    the call's index, so that a reply always gets the same ids, also when it is read from the
    journal."""
    ids = [call["id"] for call in message.tool_calls]
    own = unique_ids(ids)
    if own == ids:
        return message
    calls = [{**call, "id": each} for call, each in zip(message.tool_calls, own, strict=True)]
    return message.model_copy(update={"tool_calls": calls, "content": _content(message.content)})


def _content(content: Any) -> Any:
    """Anthropic's replies also list their calls in their content, in the same order."""
    if isinstance(content, str):
        return content
    own = iter(unique_ids(block["id"] for block in content if _is_call(block)))
    return [{**block, "id": next(own)} if _is_call(block) else block for block in content]


def _is_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_use" and "id" in block
