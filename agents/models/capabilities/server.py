"""ModelServer: the requests of one model, in the form that its server accepts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agents.errors import ModelRefused
from agents.models.capabilities.adapt import adapt, limit_output, merge_patch
from agents.models.capabilities.learn import learn
from agents.models.capabilities.record import Capabilities
from agents.models.capabilities.store import CapabilityStore, MemoryCapabilities

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
        than the one that it seems to name. The context is remembered at once: the server names it,
        whatever form it accepts. Providers charge nothing for a refusal, so all forms are
        one request of the budget and of the rate limit.
        """
        known = record = await self.store.read(self.model)
        remaining: int | None = None
        forms = [self._form(body, record)]
        while True:
            try:
                reply = await send(forms[-1])
            except ModelRefused as error:
                lesson = learn(error, forms[-1], record)
                if lesson.context not in (None, known.context_tokens):
                    learned = Capabilities(context_tokens=lesson.context)
                    await self.store.write(self.model, learned)
                form = self._form(body, lesson.record, lesson.remaining)
                if form in forms or len(forms) == MOST_FORMS or (remaining and lesson.remaining):
                    raise
                record, remaining = lesson.record, lesson.remaining
                forms.append(form)
            else:
                break
        if record != known:
            await self.store.write(self.model, record)
        return reply

    def _form(
        self, body: Mapping[str, Any], record: Capabilities, remaining: int | None = None
    ) -> Mapping[str, Any]:
        form = merge_patch(adapt(body, record.overridden(self.override)), self.body)
        return form if remaining is None else limit_output(form, remaining)
