"""Ollama, a local server."""

from __future__ import annotations

from typing import Any, cast

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import ModelConfig, Provider
from agents.models.streams import OLLAMA

CONTEXT = 32_768
"""By default it has a context of a few thousand tokens, and silently cuts the beginning of a longer
request, with the task."""


def _make(config: ModelConfig) -> BaseChatModel:
    chat: Any = init_chat_model(
        config.model,
        model_provider="ollama",
        base_url=config.base_url,
        temperature=config.temperature,
        num_predict=config.max_output_tokens,
        num_ctx=config.context,
        client_kwargs={"verify": config.tls},
    )
    # The client creates its own connections, and reads a key from the environment.
    client = config.http
    original = chat._async_client._client  # noqa: SLF001
    client.base_url = original.base_url
    client.headers = {**original.headers, "authorization": f"Bearer {config.api_key}"}
    if not config.api_key:
        del client.headers["authorization"]
    chat._async_client._client = client  # noqa: SLF001
    return cast("BaseChatModel", chat)


PROVIDER = Provider(
    name="ollama",
    protocol=OLLAMA,
    make=_make,
    public="http://127.0.0.1:11434",
    context=CONTEXT,
    key_is_needed=False,
    package="langchain_ollama",
    extra="ollama",
    install="run `ollama pull {model}` where it runs",
)
