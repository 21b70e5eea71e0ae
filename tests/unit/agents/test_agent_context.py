"""What is asked, what is cut first, and what is refused unsent; nothing is sent anywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableBinding

from agents.context.overflow import Draft, ask_within_context, size, tool_bytes
from agents.models import ContextExceeded, ModelName, ModelOptions, ProviderModel, build
from agents.prompts import past_reply
from agents.tools.build import build_tools
from agents.tools.registry import TOOLS

GROQ = "groq:llama-3.3-70b-versatile"
OLLAMA = "ollama:qwen3:8b"


def model_of(name: str, context: int | None = None) -> ProviderModel:
    options = ModelOptions({"groq": "key"}, context_tokens=context)
    model = build(ModelName.parse(name), options, "executor")
    assert isinstance(model, ProviderModel)
    return model


def prose(characters: int) -> HumanMessage:
    return HumanMessage(("Add up the measurements. " * characters)[:characters])


async def asked(model: ProviderModel, *messages: BaseMessage) -> list[int]:
    """The sizes of the requests that were sent."""
    sent: list[int] = []

    async def send(given: Sequence[BaseMessage]) -> AIMessage:
        sent.append(size(given))
        return AIMessage("ok")

    draft = Draft(messages, tool_bytes(build_tools(TOOLS)))
    assert (await ask_within_context(model, "executor", draft, send)).text == "ok"
    return sent


@pytest.mark.parametrize(
    ("characters", "context"), [(20_000, 8_192), (11_000, 6_000), (6_000, 4_096)]
)
async def test_prose_that_may_fit_is_sent(characters: int, context: int) -> None:
    assert await asked(model_of(GROQ, context), prose(characters)) == [characters]


async def test_what_may_go_is_cut_by_the_careful_figure() -> None:
    (sent,) = await asked(model_of(GROQ, 8_192), prose(4_000), past_reply("gone " * 8_000))
    assert sent <= 3 * (8_192 - 2_048) - 6_000


async def test_without_hope_it_is_not_sent_and_both_figures_are_told() -> None:
    told = r"takes about 9,\d\d\d to 1\d,\d\d\d tokens .* longer than its context \(of 8,192 tokens"
    with pytest.raises(ContextExceeded, match=told):
        await asked(model_of(GROQ, 8_192), prose(40_000))


async def test_one_that_cuts_unsaid_is_asked_what_surely_fits() -> None:
    assert await asked(model_of(OLLAMA, 8_192), prose(17_000)) == [17_000]
    with pytest.raises(ContextExceeded, match=r"at 3 bytes each; it silently cuts what is longer"):
        await asked(model_of(OLLAMA, 8_192), prose(20_000))


async def test_by_what_a_minute_allows_a_request_is_cut_and_not_refused() -> None:
    model = model_of(GROQ)
    model.learned.note(6_000)
    (sent,) = await asked(model, prose(2_000), past_reply("gone " * 8_000))
    assert sent <= 3 * 4_000 - 6_000
    assert await asked(model, prose(40_000)) == [40_000]
    assert model.context == 131_072


def test_the_tools_are_counted_as_they_are_sent() -> None:
    tools = build_tools(TOOLS)
    bound = model_of(GROQ).bind_tools(tools)
    assert isinstance(bound, RunnableBinding)
    assert tool_bytes(tools) == len(json.dumps(bound.kwargs["tools"]))
