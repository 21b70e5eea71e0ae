"""OpenAI, by its chat completions."""

from __future__ import annotations

import re
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import ModelConfig, Provider
from agents.models.streams import OPENAI

# These models think before they answer, within the limit on output tokens, and take no temperature.
# Some of them do not accept a reasoning effort with tools in chat completions, so Fettle sends
# none.
_REASONING = re.compile(r"o\d|gpt-[5-9](?!.*chat)")
_THINKING_TOKENS = 4_096


def _make(config: ModelConfig) -> BaseChatModel:
    chat: BaseChatModel = init_chat_model(
        config.model,
        model_provider="openai",
        api_key=config.api_key,
        base_url=config.base_url,
        **options(config),
    )
    return chat


def options(config: ModelConfig) -> dict[str, Any]:
    """The options of OpenAI's models, also if another provider runs them."""
    thinks = _REASONING.match(config.model) is not None
    return {
        **({} if thinks else {"temperature": config.temperature}),
        "max_tokens": config.max_output_tokens + thinking_tokens(config.model),
        "max_retries": 0,
        "use_responses_api": False,
        "http_async_client": config.http,
        "http_client": config.sync(),
        "openai_proxy": None,
    }


def thinking_tokens(model: str) -> int:
    """See Provider."""
    return _THINKING_TOKENS if _REASONING.match(model) else 0


PROVIDER = Provider(
    name="openai",
    protocol=OPENAI,
    make=_make,
    public="https://api.openai.com/v1",
    lists=("models",),
    priced_as="openai",
    package="langchain_openai",
    extra="openai",
    large="gpt-5.4-mini",
    small="gpt-5.4-nano",
    thinking_tokens=thinking_tokens,
)
