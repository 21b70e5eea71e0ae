"""Capabilities: the requests that the server of one model accepts; and the port that keeps them."""

from __future__ import annotations

import time
from typing import Any, Protocol, Self, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, ValidationError

REMEMBERED_SECONDS = 7 * 86_400
"""How long a record counts after its last change, because servers are updated."""


class Capabilities(BaseModel):
    """What a server accepts for one model. An empty record leaves requests unchanged.

    The record is small and frozen, and goes to JSON and back. A new version may add fields:
    `parse` ignores fields that it does not know.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    drop: frozenset[str] = frozenset()
    """Fields that the server refuses. `temperature` is a field of the body itself; `section.name`
    is every field `name` within the body's field `section`: `generationConfig.temperature`,
    `messages.reasoning_content`, `tools.strict`."""
    rename: dict[str, str] = Field(default_factory=dict)
    """Fields of the body that the server knows by another name: `max_tokens` by
    `max_completion_tokens`."""
    add: dict[str, str] = Field(default_factory=dict)
    """Fields that the server needs in each reply of the conversation, with the value for a reply
    that has none: `messages.reasoning_content`. A field of calls, in
    `messages.tool_calls.extra_content`, is added to the first call of a reply."""
    short_ids: bool = False
    """Whether the server accepts only ids of calls that have nine letters and digits."""
    named_results: bool = False
    """Whether the server needs the name of the tool in each result of a call."""
    max_output_tokens: int | None = Field(None, gt=0)
    """The most output tokens that a request may ask for."""
    context_tokens: int | None = Field(None, gt=0)
    """The tokens of a request with its reply, as the server says."""
    learned_at: float = 0.0
    """Seconds since 1970 of the last change; 0: this is no stored record."""
    expires_at: float = 0.0
    """Seconds since 1970 until which the record counts."""

    @classmethod
    def parse(cls, text: str | bytes | None) -> Self:
        """The record in stored JSON. One that is missing, damaged or too old is empty: it is
        learned anew."""
        try:
            record = cls.model_validate_json(text or b"")
        except ValidationError:
            return cls()
        return record if record.expires_at > time.time() else cls()

    def changed(self, **fields: Any) -> Self:
        """The record with other values."""
        return self.model_copy(update=fields)

    def dated(self) -> Self:
        """The record with the times of a change now."""
        now = time.time()
        return self.changed(learned_at=now, expires_at=now + REMEMBERED_SECONDS)

    def overridden(self, by: Capabilities) -> Capabilities:
        """The record, with the fields that `by` sets in place of its own."""
        return self.model_copy(update={name: getattr(by, name) for name in by.model_fields_set})

    def merged(self, newer: Capabilities) -> Capabilities:
        """The lessons of both records: another process may have learned other lessons. A server
        that has changed may refuse a field that it needed, or need one that it refused."""
        added = {path: value for path, value in self.add.items() if path not in newer.drop}
        return Capabilities(
            drop=(self.drop - newer.add.keys()) | newer.drop,
            rename={**self.rename, **newer.rename},
            add={**added, **newer.add},
            short_ids=self.short_ids or newer.short_ids,
            named_results=self.named_results or newer.named_results,
            max_output_tokens=newer.max_output_tokens or self.max_output_tokens,
            context_tokens=newer.context_tokens or self.context_tokens,
            learned_at=max(self.learned_at, newer.learned_at),
            expires_at=max(self.expires_at, newer.expires_at),
        )


@runtime_checkable
class CapabilityStore(Protocol):
    """Keeps a record by model, `provider:model`. Neither method raises: without its storage it
    keeps records in memory, and a call works as well with an empty record."""

    async def read(self, model: str) -> Capabilities:
        """The record of the model; an empty record if the model has none."""
        ...

    async def write(self, model: str, learned: Capabilities) -> None:
        """Add the fields that were learned to the record."""
        ...


class MemoryCapabilities:
    """A CapabilityStore of one process."""

    def __init__(self) -> None:
        self._records: dict[str, Capabilities] = {}

    async def read(self, model: str) -> Capabilities:
        """See CapabilityStore."""
        return self._records.get(model, Capabilities())

    async def write(self, model: str, learned: Capabilities) -> None:
        """See CapabilityStore."""
        record = await self.read(model)
        self._records[model] = record.merged(learned.dated())
