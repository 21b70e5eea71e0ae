"""Providers that cache a prompt's beginning only when they are told to are told."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from agents.models.build import build
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from benchmarks.provider import ProviderServer, Reply


@tool
def python(code: str) -> str:
    """Runs a program."""
    return code


@pytest.mark.parametrize(
    ("name", "told"),
    [("anthropic:claude-haiku-4-5", True), ("groq:llama-3.3", False)],
)
async def test_a_conversation_is_cached_and_a_single_question_is_not(name: str, told: bool) -> None:
    with ProviderServer(lambda _: Reply("Yes.")) as server:
        provider = name.partition(":")[0]
        options = ModelOptions({provider: "k"}, {provider: server.url})
        model = build(ModelName.parse(name), options, "executor")
        assert isinstance(model, ProviderModel)
        try:
            await model.bind_tools([python]).ainvoke([HumanMessage("Work.")])
            await model.bind_tools([python], tool_choice="python").ainvoke([HumanMessage("Say.")])
        finally:
            await model.aclose()
        assert ["cache_control" in request.body for request in server.requests] == [told, False]
