"""The context of a model in its server's list of models."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from agents.models.capabilities.server import (
    AGAIN_SECONDS,
    FRESH_SECONDS,
    ModelListing,
    context_in,
)

LLAMA_CPP = {
    "models": [{"name": "/models/q.gguf", "details": {"format": "gguf"}}],
    "object": "list",
    "data": [
        {
            "id": "/models/q.gguf",
            "owned_by": "llamacpp",
            "meta": {"n_vocab": 151936, "n_ctx": 8192, "n_ctx_train": 32768, "n_params": 1},
        }
    ],
}


def data(*entries: Any) -> dict[str, Any]:
    return {"object": "list", "data": list(entries)}


@pytest.mark.parametrize(
    ("listed", "tokens"),
    [
        # The context of one slot, not of the training. The only model matches any name.
        (LLAMA_CPP, 8192),
        (data({"id": "m", "root": "m", "max_model_len": 16384}), 16384),
        (data({"id": "m", "max_context_length": 131072, "loaded_context_length": 4096}), 4096),
        (data({"id": "m", "context_length": 9, "top_provider": {"context_length": 8}}), 8),
        (data({"id": "m", "context_window": 131072}), 131072),
        ([{"id": "m", "context_length": 32768}], 32768),
        (data({"model_name": "m", "model_info": {"max_input_tokens": 9000}}), 9000),
        (data({"id": "other", "max_model_len": 1}, {"id": "m", "max_model_len": 2}), 2),
        (data({"id": "other", "max_model_len": 1}, {"id": "third", "max_model_len": 2}), None),
        (data({"id": "m"}), None),
        (data({"id": "m", "max_model_len": None}), None),
        (data({"id": "m", "max_model_len": 0}, {"id": "n"}), None),
        (data({"id": "m", "max_model_len": "16384"}), 16384),
        (data({"id": "m", "max_model_len": "long"}), None),
        (data({"id": "m", "max_model_len": True}), None),
        (data({"id": "m", "meta": []}, "m", 7), None),
        (data(), None),
        ({"data": {"id": "m"}}, None),
        ({"error": "no"}, None),
        ("models", None),
        (None, None),
    ],
)
def test_the_context_in_a_list(listed: Any, tokens: int | None) -> None:
    assert context_in(listed, "m") == tokens


class Server:
    """Lists models at some addresses, on a clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **lists: Any) -> None:
        self.lists = lists
        self.down = False
        self.read_count = 0
        self.now = 1_000.0
        monkeypatch.setattr(
            "agents.models.capabilities.server.time", SimpleNamespace(monotonic=lambda: self.now)
        )

    async def read(self, url: str) -> Any:
        self.read_count += 1
        if self.down:
            raise httpx.ConnectError("refused")
        if isinstance(self.lists.get(url), Exception):
            raise self.lists[url]
        if url not in self.lists:
            request = httpx.Request("GET", f"http://127.0.0.1/{url}")
            raise httpx.HTTPStatusError(
                "404", request=request, response=httpx.Response(404, request=request)
            )
        return self.lists[url]


async def test_a_list_is_cached_and_the_second_list_is_read_if_the_first_names_no_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server(monkeypatch, first=data({"id": "m"}), second=data({"id": "m", "n_ctx": 4096}))
    listed = ModelListing(server.read, "m", ["first", "second"])
    await listed.refresh(FRESH_SECONDS)
    await listed.refresh(FRESH_SECONDS)
    assert (listed.context, server.read_count) == (4096, 2)
    server.lists["first"] = data({"id": "m", "n_ctx": 2048})
    server.now += AGAIN_SECONDS + 1
    await listed.refresh(FRESH_SECONDS)
    assert listed.context == 4096
    await listed.refresh(AGAIN_SECONDS)  # after a refusal
    assert (listed.context, server.read_count) == (2048, 3)
    server.lists["first"] = data({"id": "m", "n_ctx": 8192})
    server.now += FRESH_SECONDS + 1
    await listed.refresh(FRESH_SECONDS)
    assert listed.context == 8192


async def test_after_a_missing_answer_the_server_is_asked_again_soon_and_its_context_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server(monkeypatch, first=LLAMA_CPP)
    listed = ModelListing(server.read, "m", ["first"])
    await listed.refresh(FRESH_SECONDS)
    server.down = True
    server.now += FRESH_SECONDS + 1
    await listed.refresh(FRESH_SECONDS)
    await listed.refresh(FRESH_SECONDS)
    assert (listed.context, server.read_count) == (8192, 2)
    assert isinstance(listed.error, httpx.ConnectError)
    server.down = False
    server.now += AGAIN_SECONDS + 1
    await listed.refresh(FRESH_SECONDS)
    assert (listed.context, listed.error, server.read_count) == (8192, None, 3)


async def test_a_server_without_a_list_is_not_asked_with_each_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server(monkeypatch)
    listed = ModelListing(server.read, "m", ["first", "second"])
    for _ in range(3):
        await listed.refresh(FRESH_SECONDS)
    assert (listed.context, listed.error, server.read_count) == (None, None, 2)


@pytest.mark.parametrize("error", [httpx.DecodingError("not gzip"), ValueError("no JSON")])
async def test_an_invalid_list_counts_as_no_list(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(monkeypatch, first=error, second=LLAMA_CPP)
    listed = ModelListing(server.read, "m", ["first", "second"])
    await listed.refresh(FRESH_SECONDS)
    assert (listed.context, listed.error) == (8192, None)
