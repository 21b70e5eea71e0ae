"""The messages that persons send to a job before it has ended. `agents.calls.messages` adds them to
requests of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of a person to a job."""

    number: int
    """The number among the messages of the job, from 1."""
    by: str
    """The person."""
    text: str


class UserMessages(Protocol):
    """The messages on record."""

    async def after(self, number: int) -> Sequence[UserMessage]:
        """The messages with a number above `number`, in order. Raises `agents.errors.Stopped` if
        the job no longer belongs to this attempt."""
        ...
