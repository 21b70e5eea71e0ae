"""Anthropic."""

from __future__ import annotations

import re
from typing import Any, cast

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import ModelConfig, Provider
from agents.models.streams import ANTHROPIC

# Anthropic caches only on request. With this option, it caches a request up to its last message for
# five minutes. The other providers cache by themselves.
# https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
_CACHE = {"type": "ephemeral"}
# These models think before they answer by default, within the limit on output tokens.
_THINKS = re.compile(r"claude-(?:fable|mythos|[a-z]+-(?:4-[6-9]|[5-9]))")
_THINKING_TOKENS = 4_096


def _make(config: ModelConfig) -> BaseChatModel:
    from anthropic import AsyncAnthropic  # noqa: PLC0415 - takes 2 s

    from agents.models.transport.httpx2_transport import httpx2_client  # noqa: PLC0415

    chat: Any = init_chat_model(
        config.model,
        model_provider="anthropic",
        api_key=config.api_key,
        base_url=config.base_url,
        max_tokens=config.max_output_tokens + _thinking_tokens(config.model),
        max_retries=0,
    )
    if (chat.profile or {}).get("temperature", True):
        chat.temperature = config.temperature
    # A cached property: LangChain's own client does not take connections.
    chat.__dict__["_async_client"] = AsyncAnthropic(
        api_key=config.api_key,
        base_url=config.base_url,
        max_retries=0,
        timeout=None,
        http_client=httpx2_client(config.http),
    )
    return cast("BaseChatModel", chat)


def _thinking_tokens(model: str) -> int:
    return _THINKING_TOKENS if _THINKS.match(model) else 0


PROVIDER = Provider(
    name="anthropic",
    protocol=ANTHROPIC,
    make=_make,
    public="https://api.anthropic.com",
    priced_as="anthropic",
    caching={"cache_control": _CACHE},
    package="langchain_anthropic",
    extra="anthropic",
    large="claude-sonnet-5",
    small="claude-haiku-5-5",
    thinking_tokens=_thinking_tokens,
)
