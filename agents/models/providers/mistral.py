"""Mistral."""

from __future__ import annotations

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import ModelConfig, Provider
from agents.models.streams import USAGE_UNASKED


def _make(config: ModelConfig) -> BaseChatModel:
    # The client adds neither the address nor the key to connections that the caller has made.
    config.http.base_url = config.base_url
    config.http.headers["authorization"] = f"Bearer {config.api_key}"
    chat: BaseChatModel = init_chat_model(
        config.model,
        model_provider="mistralai",
        api_key=config.api_key,
        base_url=config.base_url,
        temperature=config.temperature,
        max_tokens=config.max_output_tokens,
        max_retries=1,  # counts the first try too
        async_client=config.http,
        client=config.sync(),
    )
    return chat


PROVIDER = Provider(
    name="mistral",
    protocol=USAGE_UNASKED,
    make=_make,
    public="https://api.mistral.ai/v1",
    priced_as="mistral",
    package="langchain_mistralai",
    extra="mistral",
    large="mistral-medium-latest",
    small="mistral-small-latest",
    lists=("models",),
)
