"""DeepSeek."""

from __future__ import annotations

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import ModelConfig, Provider
from agents.models.streams import OPENAI


def _make(it: ModelConfig) -> BaseChatModel:
    chat: BaseChatModel = init_chat_model(
        it.model,
        model_provider="deepseek",
        api_key=it.api_key,
        api_base=it.base_url,
        temperature=it.temperature,
        max_tokens=it.max_output_tokens,
        max_retries=0,
        http_async_client=it.http,
        http_client=it.sync(),
        openai_proxy=None,
    )
    return chat


PROVIDER = Provider(
    name="deepseek",
    protocol=OPENAI,
    make=_make,
    key="DEEPSEEK_API_KEY",
    address="FETTLE_DEEPSEEK_BASE_URL",
    public="https://api.deepseek.com/v1",
    lists=("models",),
    priced_as="deepseek",
    package="langchain_deepseek",
    extra="deepseek",
    large="deepseek-v4-pro",
    small="deepseek-v4-flash",
)
