"""Provider: everything that Fettle knows about one provider."""

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


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What a model is built from. `http` sends its requests; its own retries and limits are off.

    `context` is the size of its context in tokens, for servers that take it as an option.
    `settings` are the provider's other settings that are set, by the names in `Provider.settings`.
    """

    model: str
    api_key: str
    base_url: str
    max_output_tokens: int
    temperature: float
    tls: ssl.SSLContext
    http: httpx.AsyncClient
    context: int | None
    settings: Mapping[str, str] = field(default_factory=dict)

    def sync(self) -> httpx.Client:
        """For clients that require a synchronous one, which is never used. It shares the TLS
        context, because a new one takes 30 ms."""
        return httpx.Client(verify=self.tls)


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider; `key` and `address` name the variables that an operator sets.

    `public` is its address by default; None: `address` has to be set. `thinking_tokens` is what a
    model may use beyond the limit on output tokens. `large` and `small` are the default models.
    `package` is the library that it needs beyond the base install, and `extra` what installs it.
    `install` says how to get a model that its server lacks, with `{model}`.
    `priced_as` is its name in genai-prices. `context` is the context in tokens that the server is
    configured to use; such a server silently cuts longer requests. `caching` is added to each
    request of a conversation, for providers that cache only on request. `lists` are the paths of
    the server's lists of models, relative to its address; they may name the models' contexts.
    `settings` are the variables of its other settings, by name; the setting `instead_of_key` can
    replace the key.
    """

    name: str
    protocol: StreamProtocol
    make: Callable[[ModelConfig], BaseChatModel]
    key: str
    address: str
    public: str | None
    priced_as: str | None = None
    caching: Mapping[str, Any] = field(default_factory=dict)
    context: int | None = None
    lists: Sequence[str] = ()
    key_is_needed: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    instead_of_key: str = ""
    package: str | None = None
    extra: str = ""
    install: str = ""
    large: str | None = None
    small: str | None = None
    models: re.Pattern[str] = PLAIN
    thinking_tokens: Callable[[str], int] = lambda _model: 0

    @property
    def key_variables(self) -> str:
        """The variables of the key and of the setting that replaces it, in words."""
        instead = self.settings.get(self.instead_of_key)
        return f"{self.key} or {instead}" if instead else self.key
