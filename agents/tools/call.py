"""Calls of tools: the input and the answer of a tool, and the answers to calls that are refused."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, ValidationError

from agents.attempt import Ports
from agents.calls.call_key import for_reply
from agents.calls.serializer import UNSERIALIZABLE
from agents.history import Trace, runs_in, traces
from agents.models.replies.ending import MALFORMED, cut_off, output_tokens
from agents.prompts import render
from agents.tools.trace import of_use

Runtime = ToolRuntime[Any, Any]
"""The input of each tool besides its arguments. Its `context` is Ports, but with that type pydantic
would build a schema of the ports."""

Answer = tuple[str, Trace]
"""The text for the model, and the trace of the call."""


def next_run(runtime: Runtime) -> int:
    """The number of the run that this call makes; the same after a crash.

    It counts the job's runs before this pass, the runs of earlier replies, and the runs of earlier
    calls of this reply. Parallel branches share the numbers: of three branches, each takes every
    third number.
    """
    ports: Ports = runtime.context
    state, request = runtime.state, runtime.state["request"]
    messages = [*state["messages"], *ports.sequencer.answers(for_reply(state).key())]
    run_count = len(runs_in(traces(messages)))
    return int(request.runs_before + run_count * request.run_number_step + 1)


def argument_problem(
    call: ToolCall, arguments: type[BaseModel] | None, reply: AIMessage
) -> str | None:
    """The problem with the arguments of a call in `reply`, and the remedy; None if they are valid.
    LangChain's own text would repeat all arguments."""
    if call["args"].get(MALFORMED) == UNSERIALIZABLE:
        problem = f"cannot be stored: they hold {UNSERIALIZABLE}"
        return f"the arguments of {call['name']} {problem}. Call it again."
    if MALFORMED in call["args"]:
        if cut_off(reply):
            return render("executor/cut_off", tokens=output_tokens(reply), tool=call["name"])
        return f"the arguments of {call['name']} were not valid JSON. Call it again."
    if arguments is None:
        return None
    try:
        arguments.model_validate(call["args"])
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()
        )
        return f"the arguments of {call['name']} do not fit: {'; '.join(problems)}. Call it again."
    return None


def refused(call: ToolCall, reason: str) -> ToolMessage:
    """The answer to a call that was not made, with its trace."""
    path = call["args"].get("path")
    trace = of_use(call["name"], path if isinstance(path, str) else None, ok=False, note=reason)
    return ToolMessage(
        f"error: {reason}",
        name=call["name"],
        tool_call_id=call["id"],
        status="error",
        artifact=trace,
    )
