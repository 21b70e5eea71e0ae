"""Mistral."""

from __future__ import annotations

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import ModelConfig, Provider
from agents.models.streams import MISTRAL


def _make(it: ModelConfig) -> BaseChatModel:
    # The client adds neither to connections that it is given.
    it.http.base_url = it.base_url
    it.http.headers["authorization"] = f"Bearer {it.api_key}"
    chat: BaseChatModel = init_chat_model(
        it.model,
        model_provider="mistralai",
        api_key=it.api_key,
        base_url=it.base_url,
        temperature=it.temperature,
        max_tokens=it.max_output_tokens,
        max_retries=1,  # counts the first try too
        async_client=it.http,
        client=it.sync(),
    )
    return chat


PROVIDER = Provider(
    name="mistral",
    protocol=MISTRAL,
    make=_make,
    key="MISTRAL_API_KEY",
    address="FETTLE_MISTRAL_BASE_URL",
    public="https://api.mistral.ai/v1",
    priced_as="mistral",
    package="langchain_mistralai",
    extra="mistral",
    large="mistral-medium-latest",
    small="mistral-small-latest",
    lists=("models",),
)
