"""The tool `python`: a program in a fresh room."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.prebuilt import ToolRuntime

from agents.history import this_pass
from agents.ports import Ports
from agents.runs import EXECUTOR, run_code
from agents.telling import told
from agents.tools.trace import Trace, of_run

NAME = "python"


async def python(code: str, runtime: ToolRuntime[Any, Any]) -> tuple[str, Trace]:
    """Run a Python program in a fresh process in the working directory; see what it prints.

    Files stay from one call to the next; variables, imports and functions do not.

    Args:
        code: The whole program.
    """
    ports: Ports = runtime.context
    state = runtime.state
    number = state["runs_before"] + _position(state["messages"], runtime.tool_call_id)
    ran = await run_code(ports, code, number, state["revision"], EXECUTOR)
    text = told(ran.result, ran.run["refused"], ports.limits, ports.bounds.output)
    return text, of_run(ran)


def _position(messages: list[AnyMessage], call_id: str | None) -> int:
    """Which run of this pass a call is, from 1: the same when it is made again after a crash."""
    position = 0
    for message in this_pass(messages):
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            # Only these get as far as a run: others are refused for their arguments.
            if call["name"] == NAME and isinstance(call["args"].get("code"), str):
                position += 1
                if message is messages[-1] and call["id"] == call_id:
                    return position
    return position
