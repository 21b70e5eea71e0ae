"""ModelServer: the requests of one model, in the form that its server accepts. ModelListing: the
context of a model, from its server's own list of models.

Servers of OpenAI's protocol name the context in different fields of `GET /v1/models`. llama.cpp's
`n_ctx` is the context of one slot: a request never gets more. A server that is started again may
have another context, so the list is read again after a while (ADR 78).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from agents.errors import ModelRefused
from agents.models.capabilities.body import adapt, limit_output, merge_patch
from agents.models.capabilities.learn import learn
from agents.models.capabilities.record import Capabilities, CapabilityStore, MemoryCapabilities

T = TypeVar("T")

MOST_FORMS = 8
"""Forms of one request that are tried. Each one but the first was learned from a refusal."""


@dataclass(slots=True)
class ModelServer:
    """The server of `model`, which is written `provider:model`.

    The operator sets `override`, which counts in place of the same fields of the record, `headers`
    for each request (None removes one), and `body`, a merge patch for each body (RFC 7396). A field
    that the operator sets is sent even if the server refuses it.
    """

    model: str = ""
    store: CapabilityStore = field(default_factory=MemoryCapabilities)
    override: Capabilities = field(default_factory=Capabilities)
    headers: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    body: Mapping[str, Any] = field(default_factory=dict)

    served_context: int | None = field(default=None, init=False)
    """The model's context in tokens, as `learn_context` read it last; None: not known."""

    async def learn_context(self, listed: int | None) -> None:
        """Read the model's context: the operator's number, the number `listed` in the server's list
        of models, or the number that was learned from a refusal."""
        record = await self.store.read(self.model)
        self.served_context = self.override.context_tokens or listed or record.context_tokens

    async def send(
        self, body: Mapping[str, Any], send: Callable[[Mapping[str, Any]], Awaitable[T]]
    ) -> T:
        """What `send` returns for the first form of `body` that the server accepts.

        A form is remembered only after the server has accepted it: a refusal may have another cause
        than the one that it seems to name. The context is remembered at once, because it does not
        depend on the form. Providers charge nothing for a refusal, so all forms are
        one request of the budget and of the rate limit.
        """
        stored = record = await self.store.read(self.model)
        remaining: int | None = None
        forms = [self._form(body, record)]
        while True:
            try:
                reply = await send(forms[-1])
            except ModelRefused as error:
                lesson = learn(error, forms[-1], record)
                if lesson.context not in (None, stored.context_tokens):
                    learned = Capabilities(context_tokens=lesson.context)
                    await self.store.write(self.model, learned)
                form = self._form(body, lesson.record, lesson.remaining)
                if form in forms or len(forms) == MOST_FORMS or (remaining and lesson.remaining):
                    raise
                record, remaining = lesson.record, lesson.remaining
                forms.append(form)
            else:
                break
        if record != stored:
            await self.store.write(self.model, record)
        return reply

    def _form(
        self, body: Mapping[str, Any], record: Capabilities, remaining: int | None = None
    ) -> Mapping[str, Any]:
        form = merge_patch(adapt(body, record.overridden(self.override)), self.body)
        return form if remaining is None else limit_output(form, remaining)


FRESH_SECONDS = 300.0
"""How old a list may be."""
AGAIN_SECONDS = 20.0
"""How old it may be if the server refuses a request for its length; and how long to wait after a
try to which no server answered."""
ASK_SECONDS = 3.0

_CONTEXTS = frozenset(
    {
        "n_ctx",  # llama.cpp, in `meta`; `n_ctx_train` is the context of the training
        "max_model_len",  # vLLM, SGLang
        "loaded_context_length",  # LM Studio
        "max_context_length",  # LM Studio, Mistral
        "context_length",  # OpenRouter, Together
        "context_window",  # Groq
        "max_context",
        "max_input_tokens",  # LiteLLM
    }
)
"""If an entry names several contexts, the smallest one counts: the others are upper bounds."""
_MOST_DIGITS = 12
_NAMES = ("id", "name", "model", "model_name", "root", "key")

Read = Callable[[str], Awaitable[Any]]
"""Reads the JSON at a URL. Raises httpx.TransportError if no server answers, another HTTPError of
httpx for an error status or a broken encoding, ValueError for other content or none in time."""


class ModelListing:
    """The lists at `urls`, read in this order until one names the context of `model`.

    `context` is in tokens, None if it is not known. `error` is the fault of the connection, if the
    last attempt to read a list found no server.
    """

    def __init__(self, read: Read, model: str, urls: Sequence[str]) -> None:
        self._read = read
        self._model = model
        self.urls = urls
        self._lock = asyncio.Lock()
        self._read_at = -math.inf
        self.context: int | None = None
        self.error: httpx.TransportError | None = None

    async def refresh(self, most_seconds: float) -> None:
        """Read the lists if they were read longer ago. If no server answers, the last context
        stays, and the next call after AGAIN_SECONDS tries again."""
        async with self._lock:
            if time.monotonic() - self._read_at <= most_seconds:
                return
            age = 0.0
            try:
                self.context, self.error = await self._find_context(), None
            except httpx.TransportError as error:
                self.error = error
                age = FRESH_SECONDS - AGAIN_SECONDS
            self._read_at = time.monotonic() - age

    async def _find_context(self) -> int | None:
        """Raises httpx.TransportError if no server answers."""
        for url in self.urls:
            try:
                context = context_in(await self._read(url), self._model)
            except httpx.TransportError:
                raise
            except (httpx.HTTPError, ValueError):  # the server has no such list
                continue
            if context is not None:
                return context
        return None


def context_in(listed: Any, model: str) -> int | None:
    """The context of `model` in a list of models as JSON, in tokens; None: the list names none.

    A list with one entry is about the only model of the server, which often answers to any name.
    """
    entries = list(_entries(listed))
    matching = [entry for entry in entries if model in map(entry.get, _NAMES)]
    for entry in matching or (entries if len(entries) == 1 else []):
        return min(_contexts(entry), default=None)
    return None


def _entries(listed: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(listed, dict):
        listed = listed.get("data") or listed.get("models")
    if isinstance(listed, list):
        yield from (entry for entry in listed if isinstance(entry, dict))


def _contexts(entry: Mapping[str, Any]) -> Iterator[int]:
    """The contexts in an entry and in its objects, such as llama.cpp's `meta`."""
    for fields in (entry, *(value for value in entry.values() if isinstance(value, dict))):
        for name in _CONTEXTS & fields.keys():
            if (tokens := _positive(fields[name])) is not None:
                yield tokens


def _positive(value: Any) -> int | None:
    """A positive number, also in a text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < _MOST_DIGITS:
        value = int(value)
    return value if type(value) is int and value > 0 else None
