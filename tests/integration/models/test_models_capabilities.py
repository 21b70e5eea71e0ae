"""What a server refuses is sent in its next form, by every client library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from agents.models.build import build
from agents.models.capabilities.store import MemoryCapabilities
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from agents.models.providers import PROVIDERS
from agents.models.replies.structured import ask
from benchmarks.provider import ProviderServer, Reply, Request, ToolCall, Turn

NAMES = (
    "groq:llama-3.3-70b-versatile",
    "google_genai:gemini-2.5-flash",
    "openai:gpt-4.1-mini",
    "anthropic:claude-haiku-4-5",
    "deepseek:deepseek-v4-flash",
    "openrouter:openai/gpt-4.1-mini",
    "ollama:qwen3:8b",
    "compatible:meta-llama/Llama-3.1-8B-Instruct",
)
EACH = pytest.mark.parametrize("name", NAMES)
QUESTION = [HumanMessage("Is it good?")]


class Verdict(BaseModel):
    """Whether it is good."""

    good: bool


@contextmanager
def learning(
    name: str, script: Callable[[Request], Turn], known: MemoryCapabilities, **more: Any
) -> Iterator[tuple[ProviderModel, ProviderServer]]:
    """A model over a server with this script, which knows what is `known`."""
    with ProviderServer(script) as server:
        keys = dict.fromkeys(PROVIDERS, "key")
        options = ModelOptions(api_keys=keys, base_urls=server.base_urls(), **more)
        model = build(ModelName.parse(name), options, "critic", capabilities=known)
        assert isinstance(model, ProviderModel)
        yield model, server


def choice_of(body: Mapping[str, Any]) -> Any:
    return body.get("tool_choice") or body.get("toolConfig")


@EACH
async def test_a_lone_tool_is_forced_without_its_name(name: str) -> None:
    reply = Reply(tool_calls=(ToolCall("Verdict", {"good": True}),))
    with learning(name, lambda _: reply, MemoryCapabilities()) as (model, server):
        answer = await ask(model, QUESTION, Verdict)
    assert answer.value == Verdict(good=True)
    request = server.requests[0]
    match request.wire:
        case "openai":
            assert choice_of(request.body) == "required"
        case "anthropic":
            assert choice_of(request.body) == {"type": "any"}
        case "gemini":
            assert choice_of(request.body)["functionCallingConfig"]["mode"] == "ANY"
