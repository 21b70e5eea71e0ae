"""A paid answer is charged even if its recording cannot be stored."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from support.graph.graphs import Journey, PlannedSandbox, turn

from agents.calls.model_call import ModelCall, model_call
from agents.context.overflow import Messages
from agents.graph.memory_ports import MemoryWorkspace
from agents.ports import CallKey
from agents.redaction import Redaction


@dataclass
class Full(MemoryWorkspace):
    """A workspace that cannot store bytes."""

    error: BaseException

    async def keep(self, content: bytes) -> str:
        raise self.error


@pytest.mark.parametrize("error", [OSError("full"), asyncio.CancelledError()])
async def test_a_paid_answer_is_charged(tmp_path: Path, error: BaseException) -> None:
    journey = Journey.plan(tmp_path, [turn("executor", "hi", "yes")], PlannedSandbox({}))
    ports = replace(journey.ports, workspace=Full(error), redaction=Redaction())

    async def call(model: Any, messages: Messages) -> AIMessage:
        reply: AIMessage = await model.ainvoke(messages)
        return reply

    with pytest.raises(type(error)):
        await model_call(
            ports, ModelCall("executor", CallKey("", "n", 0), [HumanMessage("hi")]), call
        )
    (charge,) = journey.record.charges.values()
    assert (charge.input_tokens, charge.output_tokens) == (100, 10)
    assert journey.record.outcomes == {}
