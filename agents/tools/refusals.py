"""Tool calls that do not reach their tool, and answers that say what to do instead."""

from __future__ import annotations

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from pydantic import BaseModel, ValidationError

from agents.calls.serializable import UNSERIALIZABLE
from agents.models.replies.ending import MALFORMED, cut_off, output_tokens
from agents.prompts import render
from agents.tools.trace import of_use


def argument_problem(
    call: ToolCall, arguments: type[BaseModel] | None, reply: AIMessage
) -> str | None:
    """What is wrong with the arguments of a call in `reply`, and what to do; None if they fit.
    LangChain's text would repeat all of them."""
    if call["args"].get(MALFORMED) == UNSERIALIZABLE:
        what = f"cannot be stored: they hold {UNSERIALIZABLE}"
        return f"the arguments of {call['name']} {what}. Call it again."
    if MALFORMED in call["args"]:
        if cut_off(reply):
            return render("executor/cut_off", tokens=output_tokens(reply), tool=call["name"])
        return f"the arguments of {call['name']} were not valid JSON. Call it again."
    if arguments is None:
        return None
    try:
        arguments.model_validate(call["args"])
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        return f"the arguments of {call['name']} do not fit: {'; '.join(wrong)}. Call it again."
    return None


def refused(call: ToolCall, why: str) -> ToolMessage:
    """The answer to a call that was not made, with its trace."""
    path = call["args"].get("path")
    trace = of_use(call["name"], path if isinstance(path, str) else None, ok=False, note=why)
    return ToolMessage(
        f"error: {why}",
        name=call["name"],
        tool_call_id=call["id"],
        status="error",
        artifact=trace,
    )
