"""The options determine the address and the key of a model, whatever the environment says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agents.models.build import build
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.providers import PROVIDERS
from lab.provider import ProviderServer, Refusal, Reply, always

MODELS = {"google_genai": "gemini-2.5-flash", "anthropic": "claude-haiku-5-5", "openai": "gpt-4.1"}
KEY_HEADERS = ("x-goog-api-key", "x-api-key", "api-key", "authorization")
ADDRESSES = (
    *("GROQ_API_BASE", "GROQ_BASE_URL", "GROQ_PROXY"),
    *("GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"),
    *("OPENAI_API_BASE", "OPENAI_BASE_URL", "OPENAI_PROXY"),
    *("ANTHROPIC_API_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROXY"),
    *("DEEPSEEK_API_BASE", "OPENROUTER_API_BASE", "OLLAMA_HOST", "LANGSMITH_GATEWAY"),
    *("MISTRAL_BASE_URL", "AZURE_OPENAI_ENDPOINT"),
)
KEYS = (
    *("GROQ_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"),
    *("ANTHROPIC_AUTH_TOKEN", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY", "OLLAMA_API_KEY"),
    *("LANGSMITH_GATEWAY_API_KEY", "MISTRAL_API_KEY"),
    *("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
)


@pytest.fixture
def decoy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """A server to which every variable points that the client libraries are known to read."""
    with ProviderServer(always(Refusal(400, "the environment was followed"))) as server:
        for variable in ADDRESSES:
            monkeypatch.setenv(variable, server.url)
        for variable in KEYS:
            monkeypatch.setenv(variable, "key-of-the-environment")
        monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "some-project")
        yield server


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_base_url_and_key_of_the_options_are_used(
    provider: str, decoy: ProviderServer
) -> None:
    name = ModelName(provider, MODELS.get(provider, "some-model"))
    with ProviderServer([Reply("ok")]) as server:
        options = ModelOptions(
            api_keys={provider: "key-of-the-options"}, base_urls=server.base_urls()
        )
        assert (await build(name, options, "planner").ainvoke("hi")).text == "ok"
    assert decoy.requests == []
    headers = server.requests[0].headers
    sent_key = next(headers[name] for name in KEY_HEADERS if name in headers)
    assert sent_key.endswith("key-of-the-options")
    assert "key-of-the-environment" not in str(headers)


@pytest.mark.parametrize("provider", ["ollama", "compatible"])
async def test_a_key_in_the_environment_is_not_sent(provider: str, decoy: ProviderServer) -> None:
    """This also holds if the operator sets no key, and the provider needs no key."""
    with ProviderServer([Reply("ok")]) as server:
        options = ModelOptions(base_urls=server.base_urls())
        await build(ModelName(provider, "some-model"), options, "planner").ainvoke("hi")
    assert "key-of-the-environment" not in str(server.requests[0].headers)
