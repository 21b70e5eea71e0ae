"""Meter: the port that counts requests to providers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from agents.models.errors import ModelError


@runtime_checkable
class Meter(Protocol):
    """Counts. It must not raise or wait."""

    def record(self, provider: str, seconds: float, error: ModelError | None) -> None:
        """A request that took `seconds`; `error` is None if it was answered."""
        ...


class NoMeter:
    """A Meter that counts nothing."""

    def record(self, provider: str, seconds: float, error: ModelError | None) -> None:
        """See Meter."""
