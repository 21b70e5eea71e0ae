"""Calls of tools: what a body gets and returns, and the answers to calls that do not reach one."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, ValidationError

from agents.attempt import Ports
from agents.calls.call_key import for_reply
from agents.calls.serializable import UNSERIALIZABLE
from agents.history import Trace, runs_in, traces
from agents.models.replies.ending import MALFORMED, cut_off, output_tokens
from agents.prompts import render
from agents.tools.trace import of_use

Runtime = ToolRuntime[Any, Any]
"""Its context is Ports. With that type pydantic would build a schema of the ports."""

Answer = tuple[str, Trace]
"""The text for the model, and the trace of the call."""


def next_run(runtime: Runtime) -> int:
    """The number of the run that this call makes; the same after a crash.

    It counts the job's runs before this pass, those of earlier replies, and those of this reply's
    earlier calls. Parallel branches share the numbers: each of three takes every third.
    """
    ports: Ports = runtime.context
    state = runtime.state
    messages = [*state["messages"], *ports.sequencer.answers(for_reply(state).key())]
    made = len(runs_in(traces(messages)))
    return int(state["runs_before"]) + made * int(state["run_number_step"]) + 1


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
