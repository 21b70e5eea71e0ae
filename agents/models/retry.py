"""How long and how often a model is asked before it counts as unavailable."""

from __future__ import annotations

from dataclasses import dataclass

from agents.models.errors import ModelUnavailable, ReplyMalformed


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The bounds of one model call. All times are in seconds.

    `retries` are the tries after the first, `total_seconds` bounds all tries and the waits between
    them together (a try has bounds of its own, see `connection.Timeouts`). The waits grow from
    `first_wait_seconds` to `longest_wait_seconds`, unless the provider says otherwise.
    """

    retries: int = 4
    total_seconds: float = 120.0
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 8.0

    def wait(
        self, error: ModelUnavailable, *, tries: int, spent: float, jitter: float
    ) -> float | None:
        """Seconds to wait before the next try, or None to give up.

        `tries` were made, in `spent` seconds; `jitter` is a number from 0 to 1. The provider's own
        word counts: never earlier than it says, and if that is beyond our patience, no more tries
        at all. The waits double, jittered over their upper half, so that jobs which failed
        together do not come back together: never earlier than that either, since some say "at
        once", or name a time that is past, as often as they are asked. A model that wrote nonsense
        gets one more try: whoever asked has a better remedy, to show it what it wrote.
        """
        if tries > (1 if isinstance(error, ReplyMalformed) else self.retries):
            return None
        grown = self.first_wait_seconds * 2.0 ** (tries - 1)
        longest = min(grown, self.longest_wait_seconds)
        asked_wait = (error.retry_after_seconds or 0.0) * (1 + jitter / 10)
        pause = max(asked_wait, longest * (0.5 + jitter / 2))
        return pause if spent + pause < self.total_seconds else None
