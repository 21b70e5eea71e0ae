"""Where a model is asked is the options' affair, whatever the environment says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agents.models import ModelName, ModelOptions, ProviderModel, build
from bench.provider import ProviderServer, Refusal, Reply, always

GROQ = ModelName.parse("groq:llama-3.3-70b-versatile")
GEMINI = ModelName.parse("google_genai:gemini-2.5-flash")


@pytest.fixture
def decoy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """A server to which every variable points that the clients are known to read."""
    with ProviderServer(always(Refusal(400, "the environment was followed"))) as server:
        for variable in (
            "GROQ_API_BASE",
            "GROQ_BASE_URL",
            "GROQ_PROXY",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_VERTEX_BASE_URL",
            "LANGSMITH_GATEWAY",
            "OPENAI_BASE_URL",
        ):
            monkeypatch.setenv(variable, server.url)
        for variable in (
            "GROQ_API_KEY",
            "GOOGLE_API_KEY",
            "GEMINI_API_KEY",
            "LANGSMITH_GATEWAY_API_KEY",
        ):
            monkeypatch.setenv(variable, "key-of-the-environment")
        monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "some-project")
        yield server


@pytest.mark.parametrize("name", [GROQ, GEMINI], ids=str)
async def test_a_given_base_url_and_key_are_used(name: ModelName, decoy: ProviderServer) -> None:
    with ProviderServer([Reply("ok")]) as server:
        options = ModelOptions(
            api_keys={name.provider: "key-of-the-options"}, base_urls={name.provider: server.url}
        )
        assert (await build(name, options, "planner").ainvoke("hi")).text == "ok"
    assert decoy.requests == []
    headers = server.requests[0].headers
    shown = headers.get("x-goog-api-key") or headers["authorization"]
    assert shown.endswith("key-of-the-options")
    assert server.requests[0].path in {
        "/openai/v1/chat/completions",
        "/v1beta/models/gemini-2.5-flash:generateContent",
    }


@pytest.mark.parametrize("name", [GROQ, GEMINI], ids=str)
def test_without_one_it_is_the_providers_public_address(
    name: ModelName, decoy: ProviderServer
) -> None:
    model = build(name, ModelOptions(api_keys={name.provider: "key"}), "planner")
    assert isinstance(model, ProviderModel)
    inner = model.inner
    if name is GROQ:
        assert inner.async_client._client.base_url == "https://api.groq.com"
    else:
        address = inner.async_client.models._api_client._http_options.base_url
        assert address == "https://generativelanguage.googleapis.com"
