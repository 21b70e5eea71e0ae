"""Gemini, by Google's Generative Language API."""

from __future__ import annotations

from typing import Any, cast

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.providers.kind import IN_A_PATH, ModelConfig, Provider
from agents.models.streams import GEMINI

# Thinking counts against the limit on output tokens: without its own bound it can use up all of it,
# and the answer is empty. The models of 2.5 take a number, those of 3 a level.
# https://ai.google.dev/gemini-api/docs/thinking
_THINKING_TOKENS = 1_024


def _make(config: ModelConfig) -> BaseChatModel:
    return make_gemini(config, vertexai=False, api_key=config.api_key)


def make_gemini(config: ModelConfig, **access: Any) -> BaseChatModel:
    """A model of the Gemini API or of Vertex AI. `access` are the options that both clients,
    LangChain's and Google's, have for this choice and for credentials."""
    from google.genai import Client  # noqa: PLC0415 - takes 0.4 s
    from google.genai.types import HttpOptions  # noqa: PLC0415

    chat: Any = init_chat_model(
        config.model,
        model_provider="google_genai",
        base_url=config.base_url,
        temperature=config.temperature,
        max_output_tokens=config.max_output_tokens + thinking_tokens(config.model),
        **_thinking(config.model),
        max_retries=1,  # counts the first try too
        **access,
        client_args={"verify": config.tls},
    )
    # LangChain's own client lets GOOGLE_GENAI_USE_VERTEXAI choose another endpoint, and does not
    # take connections.
    chat.client = Client(
        **access,
        http_options=HttpOptions(
            base_url=config.base_url,
            httpx_async_client=config.http,
            client_args={"verify": config.tls},
            async_client_args={"verify": config.tls},
        ),
    )
    return cast("BaseChatModel", chat)


def _thinking(model: str) -> dict[str, Any]:
    bare = model.removeprefix("models/")
    if bare.startswith("gemini-2.5"):
        return {"thinking_budget": _THINKING_TOKENS}
    if bare.startswith("gemini-3"):
        return {"thinking_level": "low"}
    return {}


def thinking_tokens(model: str) -> int:
    """See Provider."""
    return _THINKING_TOKENS if _thinking(model) else 0


PROVIDER = Provider(
    name="google_genai",
    protocol=GEMINI,
    make=_make,
    public="https://generativelanguage.googleapis.com",
    priced_as="google",
    large="gemini-2.5-flash",
    small="gemini-2.5-flash-lite",
    models=IN_A_PATH,
    thinking_tokens=thinking_tokens,
)
