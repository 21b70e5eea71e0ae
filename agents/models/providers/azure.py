"""Azure OpenAI. The name of a model is the name of its deployment."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from agents.errors import ModelNotConfigured
from agents.models.providers.kind import ModelConfig, Provider
from agents.models.providers.openai import options, thinking_tokens
from agents.models.streams import OPENAI

# The first versions do not know the models that think.
# https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle
_API_VERSION = "2025-04-01-preview"
_DEPLOYMENT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,63}")
# Azure's portal also shows addresses with these ends. The client adds its own.
_END_OF_ADDRESS = re.compile(r"/openai(?:/v1|/deployments/.*)?/?$")
_TOKEN_FILE = "token_file"  # noqa: S105 - the name of a setting


def _make(config: ModelConfig) -> BaseChatModel:
    token_file = None if config.api_key else config.settings[_TOKEN_FILE]
    chat: BaseChatModel = init_chat_model(
        config.model,
        model_provider="azure_openai",
        azure_endpoint=_END_OF_ADDRESS.sub("", config.base_url),
        api_version=config.settings.get("api_version", _API_VERSION),
        api_key=config.api_key or None,
        azure_ad_token=None,
        azure_ad_token_provider=(
            _token_reader(token_file, config.name_setting(_TOKEN_FILE)) if token_file else None
        ),
        **options(config),
    )
    return chat


def _token_reader(path: str, setting: str) -> Callable[[], str]:
    """Reads the Entra token before each request: another process renews it every hour. Errors name
    the `setting` of the file."""

    def read() -> str:
        try:
            token = Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ModelNotConfigured(f"{setting} cannot be read: {error}") from error
        if not (token and token.isascii() and token.isprintable()):
            raise ModelNotConfigured(f"{setting} names a file without a token: {path}")
        return token

    return read


PROVIDER = Provider(
    name="azure",
    protocol=OPENAI,
    make=_make,
    public=None,
    example="https://NAME.openai.azure.com",
    instead_of_key=_TOKEN_FILE,
    priced_as="azure",
    package="langchain_openai",
    extra="azure",
    models=_DEPLOYMENT,
    thinking_tokens=thinking_tokens,
)
