"""Servers with a small context, and the fields that name the context."""

from __future__ import annotations

import json
from typing import Any

from support.quirks.quirk import Quirk, ReceivedRequest, refuses
from support.quirks.row import Ran, Row, openai

LLAMA_CPP = {
    "models": [{"name": "/q.gguf"}],
    "data": [{"id": "/q.gguf", "meta": {"n_ctx": 4_096, "n_ctx_train": 32_768}}],
}
VLLM = {"data": [{"id": "served-by-us", "max_model_len": 4_096}]}
LM_STUDIO = [{"id": "served-by-us", "max_context_length": 131_072, "loaded_context_length": 4_096}]
OPENROUTER = {"data": [{"id": "served-by-us", "top_provider": {"context_length": 4_096}}]}


def within(tokens: int, *, with_reply: bool) -> Quirk:
    """Refuses a request that is longer than `tokens` (3.6 bytes each) without naming a number."""

    def exceeds(received: ReceivedRequest) -> bool:
        texts = (message.text for message in received.request.messages)
        tools = json.dumps(received.body.get("tools"), ensure_ascii=False)
        request_tokens = sum(len(text.encode()) for text in (*texts, tools)) / 3.6
        return (
            request_tokens + (received.body.get("max_tokens", 10**6) if with_reply else 0) > tokens
        )

    message = "the request exceeds the available context size, try increasing it"
    return refuses(exceeds, 400, message)


def asks_for_half(ran: Ran) -> bool:
    """Each request asks for at most half of the context."""
    return {request.body["max_tokens"] for request in ran.requests} == {2_048}


def _lists_context(title: str, listed: Any, **more: Any) -> Row:
    quirk = within(4_096, with_reply=True)
    more = {"check": asks_for_half, "most_requests": 4, **more}
    return openai(title, quirk, name="compatible:served-by-us", listed=listed, **more)


ROWS: list[Row] = [
    _lists_context("the list of models names the context (llama.cpp)", LLAMA_CPP),
    _lists_context("the list of models names the context (vLLM)", VLLM),
    _lists_context("the list of models names the loaded context (LM Studio)", LM_STUDIO),
    _lists_context("the list of models names the host's context (OpenRouter)", OPENROUTER),
    _lists_context(
        "the list of models names more than FETTLE_CONTEXT_TOKENS",
        {"data": [{"id": "served-by-us", "max_model_len": 32_768}]},
        options={"context_tokens": 4_096},
    ),
    openai(
        "no list of models, and a context of 4,096 that no error names",
        within(4_096, with_reply=False),
    ),
]
