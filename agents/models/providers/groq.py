"""Groq."""

from __future__ import annotations

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import ModelConfig, Provider
from agents.models.streams import USAGE_UNASKED


def _make(config: ModelConfig) -> BaseChatModel:
    from agents.models.transport.groq_chat import completions  # noqa: PLC0415 - imports groq

    chat: BaseChatModel = init_chat_model(
        config.model,
        model_provider="groq",
        api_key=config.api_key,
        base_url=config.base_url,
        temperature=config.temperature,
        max_tokens=config.max_output_tokens,
        max_retries=0,
        async_client=completions(config.api_key, config.base_url, config.http),
        http_client=config.sync(),
    )
    return chat


PROVIDER = Provider(
    name="groq",
    protocol=USAGE_UNASKED,
    make=_make,
    public="https://api.groq.com",
    priced_as="groq",
    large="openai/gpt-oss-120b",
    small="openai/gpt-oss-20b",
)
