"""Errors of stored checkpoints."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from agents.errors import StateUnreadable
from jobs.errors import JobsError


@contextlib.contextmanager
def reading(place: str) -> Iterator[None]:
    """Raise StateUnreadable, with the place, if the block cannot decode stored bytes."""
    try:
        yield
    except JobsError:
        raise
    except StateUnreadable as error:
        raise StateUnreadable(f"{place}: {error}") from error
    except Exception as error:  # damaged bytes may raise any
        raise StateUnreadable(f"{place}: {type(error).__name__}: {error}") from error
