"""Meter: the port to whoever counts the requests to providers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from agents.models.errors import ModelError


@runtime_checkable
class Meter(Protocol):
    """Counts; raises nothing and waits for nothing."""

    def record(self, provider: str, seconds: float, error: ModelError | None) -> None:
        """A request that took so long; `error` is None where it was answered."""
        ...


class NoMeter:
    """Implements Meter where nobody counts."""

    def record(self, provider: str, seconds: float, error: ModelError | None) -> None:
        """See Meter."""
