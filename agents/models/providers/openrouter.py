"""OpenRouter."""

from __future__ import annotations

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import ModelConfig, Provider
from agents.models.streams import OPENAI


def _make(config: ModelConfig) -> BaseChatModel:
    from openrouter import OpenRouter  # noqa: PLC0415 - a slow import

    chat: BaseChatModel = init_chat_model(
        config.model,
        model_provider="openrouter",
        api_key=config.api_key,
        temperature=config.temperature,
        max_tokens=config.max_output_tokens,
        max_retries=0,
        # Without this, the client retries for an hour.
        client=OpenRouter(
            api_key=config.api_key,
            server_url=config.base_url,
            client=config.sync(),
            async_client=config.http,
            retry_config=None,
        ),
    )
    return chat


PROVIDER = Provider(
    name="openrouter",
    protocol=OPENAI,
    make=_make,
    public="https://openrouter.ai/api/v1",
    lists=("models",),
    priced_as="openrouter",
    package="langchain_openrouter",
    extra="openrouter",
    large="openai/gpt-oss-120b",
    small="openai/gpt-oss-20b",
)
