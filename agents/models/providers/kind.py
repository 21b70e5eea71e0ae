"""Provider: how the models of one provider are called. The settings declare its key and address."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from langchain_core.language_models import BaseChatModel

from agents.models.streams import StreamProtocol

PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_/@:-]|\.(?!\.)){0,127}")
IN_A_PATH = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_/@-]|\.(?!\.)){0,127}")
"""A Gemini model's name becomes part of a URL's path: it must not name another path or method."""

KEY, ADDRESS = "api_key", "base_url"
"""The settings that each provider has."""
SettingNamer = Callable[[str], str]
"""Returns the operator's name of a setting of one provider, such as GROQ_API_KEY for KEY."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The values from which a model is built. `http` sends its requests; its own retries and limits
    are off.

    `context` is the size of its context in tokens, for servers that take it as an option.
    `settings` are the provider's other settings that are set. Errors name a setting by
    `name_setting`.
    """

    model: str
    api_key: str
    base_url: str
    max_output_tokens: int
    temperature: float
    tls: ssl.SSLContext
    http: httpx.AsyncClient
    context: int | None
    settings: Mapping[str, str]
    name_setting: SettingNamer

    def sync(self) -> httpx.Client:
        """For clients that require a synchronous one, which is never used. It shares the TLS
        context, because a new one takes 30 ms."""
        return httpx.Client(verify=self.tls)


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models."""

    name: str
    """The provider's name in `name:model`."""
    protocol: StreamProtocol
    make: Callable[[ModelConfig], BaseChatModel]
    public: str | None
    """The address by default; None: an operator has to set one."""
    example: str = ""
    """An address for messages, if there is no public one."""
    priced_as: str | None = None
    """The name in genai-prices."""
    caching: Mapping[str, Any] = field(default_factory=dict)
    """Added to each request of a conversation, for providers that cache only on request."""
    context: int | None = None
    """The tokens of the context that the server is configured to use; such a server silently cuts
    longer requests."""
    lists: Sequence[str] = ()
    """The paths of the server's lists of models, relative to its address; they may name the models'
    contexts."""
    key_is_needed: bool = True
    instead_of_key: str = ""
    """The name of the setting that can replace the key."""
    package: str | None = None
    """The library that it needs beyond the base install."""
    extra: str = ""
    """The extra that installs the library."""
    install: str = ""
    """How to get a model that the server lacks, with `{model}`."""
    large: str | None = None
    """The default model."""
    small: str | None = None
    """The default model for light work."""
    models: re.Pattern[str] = PLAIN
    thinking_tokens: Callable[[str], int] = lambda _model: 0
    """The tokens that a model may use beyond the limit on output tokens."""

    def key_settings(self, name_setting: SettingNamer) -> str:
        """The names of the key and of the setting that replaces it, in words."""
        return " or ".join(name_setting(name) for name in (KEY, self.instead_of_key) if name)
