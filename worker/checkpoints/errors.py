"""What goes wrong with checkpoints themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from jobs.errors import JobsError


class CheckpointUnreadable(Exception):
    """Stored bytes that are no checkpoint, or hold an unknown type. The text says which."""


@contextlib.contextmanager
def reading(place: str) -> Iterator[None]:
    """Raise CheckpointUnreadable, with the place, for whatever keeps the block from decoding."""
    try:
        yield
    except (JobsError, CheckpointUnreadable):
        raise
    except Exception as error:  # each serialiser has its own, and damaged bytes may raise any
        raise CheckpointUnreadable(f"{place}: {type(error).__name__}: {error}") from error
