"""Why an approved change was not delivered. The texts go to the person who sent the job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jobs.model.record import Push
from worker.repositories.errors import RepositoryRefused, RepositoryTooSlow, RepositoryUnavailable


class DeliveryRefused(Exception):
    """The host, or its operator, does not take it. The text says what to change. `done` is what
    had been delivered before."""

    def __init__(self, why: str, done: Push | None = None) -> None:
        super().__init__(why)
        self.done = done


class DeliveryUnavailable(DeliveryRefused):
    """The host fails: the same may work later, and not before the seconds that it asked for."""

    def __init__(self, why: str, asked_seconds: float = 0.0) -> None:
        super().__init__(why)
        self.asked_seconds = asked_seconds


@contextmanager
def of_delivery() -> Iterator[None]:
    """What git says of the host, as a failure of the delivery."""
    try:
        yield
    except (RepositoryUnavailable, RepositoryTooSlow) as error:
        raise DeliveryUnavailable(str(error)) from None
    except RepositoryRefused as error:
        raise DeliveryRefused(str(error)) from None
