"""Unique ids for the tool calls of a reply. Pure.

Some servers send several calls with one id, or with none. The order of calls, their keys in the
journal and the pairing of answers all need unique ids.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage

from agents.models.replies.call_ids import unique_ids


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
