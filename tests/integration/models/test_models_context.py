"""The error of every provider for a request that is too long, through its real client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from agents.context.overflow import Draft, ask_within_context
from agents.graph.memory_ports import MemoryBudget, MemoryCancel, MemoryRecord
from agents.models.build import build
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from agents.models.providers import PROVIDERS
from agents.prompts import past_reply, prompt
from agents.spending.budget import BudgetGuard
from agents.spending.pricing import Prices
from lab.provider import ProviderServer, Refusal, Reply
from lab.provider.request import Request

WHOLE = Refusal(
    400,
    "This model's maximum context length is 8192 tokens. However, you requested 11069 tokens "
    "(9021 in the messages, 2048 in the completion).",
)
ITS_WORDS = {
    "google_genai:gemini-2.5-flash": Refusal(
        400,
        "The input token count (9021) exceeds the maximum number of tokens allowed (8192).",
    ),
    "anthropic:claude-haiku-4-5": Refusal(400, "prompt is too long: 9021 tokens > 8192 maximum"),
    "compatible:llama.cpp": Refusal(
        400,
        "the request exceeds the available context size, try increasing it",
        fields={"n_prompt_tokens": 9_021, "n_ctx": 8_192},
    ),
    "groq:llama-3.3-70b-versatile": Refusal(
        413, "Request Entity Too Large", fields={"code": "request_too_large"}
    ),
    "openai:gpt-4.1-mini": WHOLE,
}
MESSAGES = [
    SystemMessage("Sum it up."),
    prompt("summary/task", task="Sort.", answer="It is sorted. " * 2_000).message(),
    past_reply("{" * 3_000, AIMessage("")),
    HumanMessage("Again."),
]


def characters(request: Request) -> int:
    return sum(len(message.text) for message in request.messages)


@pytest.mark.parametrize("name", ITS_WORDS)
async def test_a_request_that_is_too_long_is_sent_again_at_half_its_length(name: str) -> None:
    with ProviderServer([ITS_WORDS[name], Reply("ok")]) as server:
        keys = dict.fromkeys(PROVIDERS, "key")
        options = ModelOptions(keys, server.base_urls())
        model = build(ModelName.parse(name), options, "summary")
        assert isinstance(model, ProviderModel)

        async def send(sent: Sequence[BaseMessage]) -> AIMessage:
            return await model.ainvoke(list(sent))

        reply = await ask_within_context(model, "summary", Draft.of(MESSAGES, ["Summary"]), send)
        assert reply.text == "ok"
        await model.aclose()
    refused, less = server.requests
    assert characters(refused) > 31_000
    assert 10_000 < characters(less) < 16_000
    assert not any('"spare"' in json.dumps(request.body) for request in server.requests)


LLAMA_CPP = {"data": [{"id": "/m.gguf", "meta": {"n_ctx": 4_096, "n_ctx_train": 32_768}}]}


async def send_one(
    server: ProviderServer, options: ModelOptions, name: str = "compatible:q"
) -> None:
    """Send a long request within the model's context."""
    model = build(ModelName.parse(name), options, "summary")
    assert isinstance(model, ProviderModel)

    async def send(sent: Sequence[BaseMessage]) -> AIMessage:
        return await model.ainvoke(list(sent))

    reply = await ask_within_context(model, "summary", Draft.of(MESSAGES, ["Summary"]), send)
    assert reply.text == "ok"
    await model.aclose()


async def test_the_context_that_a_server_lists_bounds_requests_and_replies() -> None:
    with ProviderServer([Reply("ok")] * 4) as server:
        server.lists["/v1/models"] = LLAMA_CPP
        urls = {"compatible": server.openai_url, "openai": server.openai_url}
        keys = {"openai": "key", "groq": "key"}
        await send_one(server, ModelOptions(keys, urls))
        await send_one(server, ModelOptions(keys, urls, context_tokens=2_048))
        await send_one(server, ModelOptions(keys, urls), "openai:gpt-4.1-mini")
        assert server.listed == 3
        await send_one(server, ModelOptions(keys, {"groq": server.groq_url}), "groq:of-our-own")
        assert server.listed == 3
    listed, smaller, openai, unknown = server.requests
    assert [request.body.get("max_tokens") for request in (listed, smaller)] == [2_048, 1_024]
    assert openai.body["max_completion_tokens"] == 2_048
    assert characters(listed) <= 6_144
    assert characters(smaller) < characters(listed)
    assert characters(unknown) > 31_000


async def test_a_server_without_a_list_is_used_as_before() -> None:
    with ProviderServer([Reply("ok")]) as server:
        await send_one(server, ModelOptions({}, {"compatible": server.openai_url}))
    assert server.requests[0].body["max_tokens"] == 8_192
    assert characters(server.requests[0]) > 31_000


async def test_a_smaller_context_after_a_restart_is_noticed_at_the_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agents.models.provider.AGAIN_SECONDS", 0.0)
    with ProviderServer([WHOLE, Reply("ok")]) as server:
        lists = iter((4_096, 2_048))

        class Restarted(dict[str, object]):
            def __getitem__(self, path: str) -> object:
                return {"data": [{"id": "q", "max_model_len": next(lists)}]}

        server.lists = Restarted({"/v1/models": None})
        await send_one(server, ModelOptions({}, {"compatible": server.openai_url}))
    refused, less = server.requests
    assert (refused.body["max_tokens"], less.body["max_tokens"]) == (2_048, 1_024)
    assert characters(less) <= characters(refused) // 2 + 200


async def test_a_second_list_names_the_loaded_context_of_lm_studio() -> None:
    loaded = {"id": "q", "max_context_length": 131_072, "loaded_context_length": 4_096}
    with ProviderServer([Reply("ok")]) as server:
        server.lists["/v1/models"] = {"data": [{"id": "q"}, {"id": "other"}]}
        server.lists["/api/v0/models"] = {"data": [{"id": "other"}, loaded]}
        await send_one(server, ModelOptions({}, {"compatible": server.openai_url}))
    assert server.requests[0].body["max_tokens"] == 2_048


async def test_the_list_is_read_with_the_key_and_only_from_the_address_itself() -> None:
    received: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1:1/\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        urls = {"compatible": f"http://127.0.0.1:{port}/v1/"}
        name = ModelName.parse("compatible:q")
        model = build(name, ModelOptions({"compatible": "secret"}, urls), "summary")
        assert isinstance(model, ProviderModel)
        await model.learn_context()
        assert (model.context, model.server_error) == (None, None)
        await model.aclose()
    assert [line.split()[1] for line in received] == ["/v1/models", "/api/v0/models"]
    assert all("authorization: Bearer secret" in line for line in received)


@pytest.mark.parametrize(("tokens", "most"), [(None, 32_000), (50_000, 32_000), (20_000, 8_192)])
async def test_a_small_budget_pays_for_a_small_reply(tokens: int | None, most: int) -> None:
    with ProviderServer([Reply("ok")]) as server:
        name = ModelName.parse("groq:openai/gpt-oss-120b")
        model = build(name, ModelOptions({"groq": "key"}, {"groq": server.groq_url}), "executor")
        assert isinstance(model, ProviderModel)
        budget = MemoryBudget(MemoryRecord(), most=tokens)
        guard = BudgetGuard(budget, Prices(), str(name), MemoryCancel().check)
        await model.for_call(guard=guard).ainvoke("Write it.")
        await model.aclose()
    assert server.requests[0].body["max_tokens"] == most
