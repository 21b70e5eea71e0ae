"""DeepSeek."""

from __future__ import annotations

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import ModelConfig, Provider
from agents.models.streams import OPENAI


def _make(config: ModelConfig) -> BaseChatModel:
    chat: BaseChatModel = init_chat_model(
        config.model,
        model_provider="deepseek",
        api_key=config.api_key,
        api_base=config.base_url,
        temperature=config.temperature,
        max_tokens=config.max_output_tokens,
        max_retries=0,
        http_async_client=config.http,
        http_client=config.sync(),
        openai_proxy=None,
    )
    return chat


PROVIDER = Provider(
    name="deepseek",
    protocol=OPENAI,
    make=_make,
    public="https://api.deepseek.com/v1",
    lists=("models",),
    priced_as="deepseek",
    package="langchain_deepseek",
    extra="deepseek",
    large="deepseek-v4-pro",
    small="deepseek-v4-flash",
)
