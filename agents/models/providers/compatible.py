"""Any server with OpenAI's chat completions: vLLM, llama.cpp, a LiteLLM proxy."""

from __future__ import annotations

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import ModelConfig, Provider
from agents.models.streams import OPENAI


def _make(config: ModelConfig) -> BaseChatModel:
    chat: BaseChatModel = init_chat_model(
        config.model,
        model_provider="openai",
        api_key=config.api_key or "none",  # the client requires one
        base_url=config.base_url,
        temperature=config.temperature,
        max_retries=0,
        use_responses_api=False,
        # All servers know `max_tokens`; OpenAI's client sends a newer name.
        extra_body={"max_tokens": config.max_output_tokens},
        http_async_client=config.http,
        http_client=config.sync(),
        openai_proxy=None,
    )
    return chat


PROVIDER = Provider(
    name="compatible",
    protocol=OPENAI,
    make=_make,
    public=None,
    example="http://127.0.0.1:8000/v1",
    lists=("models", "/api/v0/models"),  # the second one is LM Studio's
    key_is_needed=False,
    package="langchain_openai",
    extra="openai",
)
