"""Reads the executor's message history. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from typing_extensions import TypedDict

from agents.state import ArtifactFields, Run

PAUSED = "paused"
"""Marks the last message of a pass that was stopped so that a person can look at a run."""
MESSAGE = "user_message"
"""Marks a message of a person to the job with its number, from 1. It does not begin a pass."""


class Trace(TypedDict):
    """The event of the call (`kind`, `data`), and the files that it made. `image` is the digest of
    an image that the model has asked for."""

    kind: str
    data: dict[str, Any]
    files: list[ArtifactFields]
    image: NotRequired[str]


def message_number(message: BaseMessage) -> int:
    """The number of a person's message to the job; 0 for every other message of a conversation."""
    return int(message.response_metadata.get(MESSAGE, 0))


def this_pass(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """The messages since the executor's last request, with which each pass starts."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], HumanMessage) and not message_number(messages[index]):
            return messages[index + 1 :]
    return messages


def replies(messages: Sequence[AnyMessage]) -> int:
    """How many replies the model has given in this pass."""
    return sum(isinstance(message, AIMessage) for message in this_pass(messages))


def has_run(messages: Sequence[AnyMessage]) -> bool:
    """Whether code has run in this pass, by the traces of its tool calls."""
    return any(trace["kind"] == "run_finished" for trace in traces(this_pass(messages)))


def was_paused(messages: Sequence[AnyMessage]) -> bool:
    """Whether the pass was stopped for a person before the model had ended it."""
    return bool(messages and messages[-1].response_metadata.get(PAUSED))


def final_answer(messages: Sequence[AnyMessage]) -> str:
    """The model's last text in this pass; empty if it only called tools."""
    for message in reversed(this_pass(messages)):
        if isinstance(message, AIMessage) and (text := str(message.text).strip()):
            return text
    return ""


def traces(messages: Sequence[BaseMessage]) -> list[Trace]:
    """The traces in a history, in the order of the calls."""
    return [
        message.artifact
        for message in messages
        if isinstance(message, ToolMessage) and message.artifact
    ]


def run_in(trace: Trace) -> Run | None:
    """The run of the call; None if the call ran no program."""
    run: Any = trace["data"]
    return run if trace["kind"] == "run_finished" else None


def runs_in(call_traces: Sequence[Trace]) -> list[Run]:
    """The runs among the traces."""
    return [run for run in map(run_in, call_traces) if run is not None]
