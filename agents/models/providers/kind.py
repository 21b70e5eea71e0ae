"""Provider: all that Fettle knows of one way to reach models."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from langchain_core.language_models import BaseChatModel

from agents.models.streams import StreamProtocol

PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_/@:-]|\.(?!\.)){0,127}")
IN_A_PATH = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_/@-]|\.(?!\.)){0,127}")
"""A Gemini model's name becomes part of a URL's path: it may not leave its place, nor name
another method."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What a model is built from. `http` takes its requests; its own tries and limits are off.

    `context` is how many tokens it shall have room for, where that is for us to say.
    """

    model: str
    api_key: str
    base_url: str
    max_output_tokens: int
    temperature: float
    tls: ssl.SSLContext
    http: httpx.AsyncClient
    context: int | None

    def sync(self) -> httpx.Client:
        """For a client that wants one, though nothing is asked through it: with the TLS context
        that there is, since each costs 30 ms to make."""
        return httpx.Client(verify=self.tls)


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider; `key` and `address` name the variables that an operator sets.

    `public` is where it is unless `address` says otherwise; None: `address` has to be set.
    `thinking_tokens` is what a model may use beyond the limit on output tokens. `large` and `small`
    are the models where none is named. `package` is the library it needs beyond the base install,
    and `extra` what installs it. `priced_as` is its name in genai-prices.
    `context` is the room that it makes for a request with its reply, in tokens, where it is told;
    what is longer, such a one cuts without a word.
    `caching` goes with each request of a conversation, where its beginning is not cached unasked.
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
    key_is_needed: bool = True
    package: str | None = None
    extra: str = ""
    large: str | None = None
    small: str | None = None
    models: re.Pattern[str] = PLAIN
    thinking_tokens: Callable[[str], int] = lambda _model: 0
