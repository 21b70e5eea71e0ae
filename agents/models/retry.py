"""RetryPolicy: how long and how often a model is called before it counts as unavailable."""

from __future__ import annotations

from dataclasses import dataclass

from agents.errors import ModelSilent, ModelUnavailable


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The bounds of one model call. All times are in seconds.

    `retries` are the tries after the first. A reply has to begin within `total_seconds`, with all
    tries and waits until then; each try has its own limits, see `time_limits`. The waits grow from
    `first_wait_seconds` to `longest_wait_seconds`, unless the provider asks for longer ones, up to
    `longest_asked_seconds`.
    """

    retries: int = 4
    total_seconds: float = 300.0
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 8.0
    longest_asked_seconds: float = 10.0

    def wait(
        self, error: ModelUnavailable, *, tries: int, spent: float, jitter: float
    ) -> float | None:
        """Seconds to wait before the next try, or None to give up.

        `tries` were made; `spent` seconds of them went by before a reply began; `jitter` is a
        random number from 0 to 1. It never waits less than the provider asks; if that is too long,
        it gives up: another model may answer, and a job that waits should hold no worker. The waits
        double, with jitter over their upper half, so that jobs that failed together do not retry
        together. They apply even if the provider asks for no wait, because some always do. A silent
        model is asked only once more.
        """
        if tries > (min(self.retries, 1) if isinstance(error, ModelSilent) else self.retries):
            return None
        if (error.retry_after_seconds or 0.0) > self.longest_asked_seconds:
            return None
        grown = self.first_wait_seconds * 2.0 ** (tries - 1)
        longest = min(grown, self.longest_wait_seconds)
        asked_wait = (error.retry_after_seconds or 0.0) * (1 + jitter / 10)
        pause = max(asked_wait, longest * (0.5 + jitter / 2))
        return pause if spent + pause < self.total_seconds else None
