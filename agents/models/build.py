"""From a model's name to a model that can be asked."""

from __future__ import annotations

import ssl
from typing import Any, cast

import httpx
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.models.connection import connect
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from agents.models.recorded import RecordedModel
from agents.models.recording import load
from agents.models.role import Role

# Thinking counts against the limit on output tokens: without a bound of its own it can use up all
# of it, and the answer comes back empty. The models of 2.5 take a number, those of 3 a level.
# https://ai.google.dev/gemini-api/docs/thinking
_THINKING_TOKENS = 1_024


def build(name: ModelName, options: ModelOptions, role: Role) -> BaseChatModel:
    """The model that answers `role`; imports its provider's library at the first use.

    Takes 30 to 80 ms of CPU, most of it for TLS contexts: build once and ask often (`ModelPool`).
    Raises ModelNotConfigured if the key or the recording is missing.
    """
    if name.is_recording:
        recording = load(options.recordings, name.model)
        return RecordedModel(recording=recording, role=role, redaction=options.redaction)
    settings: dict[str, Any] = {
        "model_provider": name.provider,
        "api_key": options.api_key(name),
        "base_url": options.base_url(name),
        "timeout": options.timeout_seconds,
        "temperature": options.temperature,
    }
    tls = httpx.create_ssl_context()
    http = connect(tls)
    make = _groq if name.provider == "groq" else _gemini
    return ProviderModel(
        inner=make(name.model, settings, options.max_output_tokens, tls, http),
        http=http,
        patience=options.patience,
        full_name=str(name),
    )


def _groq(
    model: str, settings: dict[str, Any], tokens: int, tls: ssl.SSLContext, http: httpx.AsyncClient
) -> BaseChatModel:
    from agents.models.groq_chat import completions  # noqa: PLC0415 - paid by those who use it

    chat: BaseChatModel = init_chat_model(
        model,
        **settings,
        max_tokens=tokens,
        max_retries=0,
        async_client=completions(settings["api_key"], settings["base_url"], http),
        http_client=httpx.Client(verify=tls),
    )
    return chat


def _gemini(
    model: str, settings: dict[str, Any], tokens: int, tls: ssl.SSLContext, http: httpx.AsyncClient
) -> BaseChatModel:
    from google.genai import Client  # noqa: PLC0415 - 0.4 s, paid by those who use it
    from google.genai.types import HttpOptions  # noqa: PLC0415

    chat: Any = init_chat_model(
        model,
        **settings,
        **_thinking(model, tokens),
        max_retries=1,  # counts the first try too
        vertexai=False,
        client_args={"verify": tls},
    )
    # LangChain's own client would let GOOGLE_GENAI_USE_VERTEXAI choose another endpoint, and
    # cannot be given our connections.
    chat.client = Client(
        vertexai=False,
        api_key=settings["api_key"],
        http_options=HttpOptions(
            base_url=settings["base_url"],
            httpx_async_client=http,
            client_args={"verify": tls},
            async_client_args={"verify": tls},
        ),
    )
    return cast("BaseChatModel", chat)


def _thinking(model: str, tokens: int) -> dict[str, Any]:
    bare = model.removeprefix("models/")
    room = tokens + _THINKING_TOKENS
    if bare.startswith("gemini-2.5"):
        return {"thinking_budget": _THINKING_TOKENS, "max_output_tokens": room}
    if bare.startswith("gemini-3"):
        return {"thinking_level": "low", "max_output_tokens": room}
    return {"max_output_tokens": tokens}
