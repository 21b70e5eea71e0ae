"""The time limits of one request, and how often and how long a request is tried again.

A slow model is not a dead model: the limits are on silence, and the limit on length follows from
the most tokens that the reply may have. Servers are silent for good reasons. They read a long
prompt before the first token. They hold a tool call back until it is complete, so that no token
comes while the model writes it. While a request waits in their queue, they send signs of life.

The consequences of a limit:

ModelSilent  the model is asked once more, then the next model of the chain. If no model answers,
             the job is retried later (`worker.failures`), and in the end fails with
             Reason.MODEL_UNAVAILABLE.
ReplyCut     the reply came, but was too long for its time: the next model of the chain is asked.
             After the last model, the job fails with Reason.MODEL_UNAVAILABLE.

The time of a whole job is its `timeout_seconds` (`worker.attempt`; Reason.DEADLINE).

See ADR 75.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from agents.errors import ModelError, ModelSilent, ModelUnavailable, ReplyCut

SHORT_PROMPT: Final = 4_000
"""Tokens of a request up to which the limits until the reply begins hold. They grow with a longer
one, because slow servers take minutes to read it."""
KEPT_ALIVE: Final = 3
"""How many times longer silence within a reply may last while the server sends signs of life."""
_USAGE_SECONDS = 10.0
"""How long usage figures may take after the end of the text. They come at once, if at all."""
_CLOSE_SECONDS = 1.0
"""How long a response may stay open after its last event. Its connection can be used again only if
it ends."""

_OF_FIRST = "FETTLE_MODEL_FIRST_TOKEN_SECONDS"
_OF_SILENCE = "FETTLE_MODEL_TIMEOUT_SECONDS"
_OF_SPEED = "FETTLE_MODEL_MIN_TOKENS_PER_SECOND"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The operator's limits, in seconds."""

    connect: float = 10.0
    """The time limit for a connection."""
    first_token: float = 60.0
    """The time limit for the first token, after a short prompt."""
    silence: float = 300.0
    """The longest time without a token within a reply."""
    tokens_per_second: float = 5.0
    """The speed of the slowest model, in tokens a second."""


@dataclass(frozen=True, slots=True)
class RequestSize:
    """The size of a request, from which its time limits follow."""

    input_tokens: int = 0
    """About the tokens of the request."""
    output_tokens: int = 0
    """The most tokens of the reply."""
    patience: int = 1
    """The factor of all limits: it is doubled after a try in which the server was silent."""
    within: float = math.inf
    """The seconds until the reply has to begin: the rest of the time of the call."""

    @property
    def reading(self) -> float:
        """The factor of limits until the reply begins."""
        return max(1.0, self.input_tokens / SHORT_PROMPT)


@dataclass(slots=True)
class RequestClock:
    """The limits of one request while it is under way. All times are in seconds, by the clock of
    the event loop."""

    times: Timeouts
    size: RequestSize
    started: float
    tokens: int = field(default=0, init=False)
    """About the tokens received so far."""
    _bytes_at: float | None = field(default=None, init=False)
    _token_at: float = field(default=0.0, init=False)
    _ended_at: float | None = field(default=None, init=False)
    _closed_at: float | None = field(default=None, init=False)

    def receive(self, now: float, tokens: int, *, is_complete: bool, closed: bool) -> None:
        """Bytes have come, with about this number of `tokens`. `is_complete`: the end of the text
        has come. `closed`: the server has announced the end of the response."""
        if tokens or self._bytes_at is None:
            self._token_at = now
        self._bytes_at = now
        self.tokens += tokens
        if closed and self._closed_at is None:
            self._closed_at = now
        if is_complete and (tokens or self._ended_at is None):
            self._ended_at = now

    @property
    def deadline(self) -> float:
        """When the next limit is reached, unless more comes."""
        if self._closed_at is not None:
            return self._closed_at + _CLOSE_SECONDS
        if self._ended_at is not None:
            return self._ended_at + _USAGE_SECONDS
        if self._bytes_at is None:
            return self.started + min(self.times.connect + self._reading, self.size.within)
        return min(
            self._bytes_at + self._silence,
            self._token_at + KEPT_ALIVE * self._silence,
            self.started + self._longest,
        )

    def error(self) -> ModelError:
        """The error for a limit that was reached."""
        if self._bytes_at is None:
            name = _OF_FIRST if self._reading < self.size.within else _OF_SILENCE
            seconds = _rounded(min(self._reading, self.size.within))
            return ModelSilent(f"no token within {seconds} s; for a slow server, raise {name}")
        received = f"after about {self.tokens:,} tokens"
        if self.deadline == self.started + self._longest:
            reason = (
                f"the reply was cut after {_rounded(self._longest)} s, {received}: it may have "
                f"{self.size.output_tokens:,}, at {self.times.tokens_per_second:g} a second; "
                f"lower {_OF_SPEED} or FETTLE_MAX_OUTPUT_TOKENS"
            )
            return ReplyCut(reason) if self.tokens else ModelSilent(reason)
        is_alive = self.deadline != self._bytes_at + self._silence
        silence, signs = (
            (KEPT_ALIVE * self._silence, ", only signs of life")
            if is_alive
            else (self._silence, "")
        )
        reason = (
            f"no token for {_rounded(silence)} s, {received}{signs}; for a slow server, raise "
            f"{_OF_SILENCE}"
        )
        return ModelSilent(reason, tokens=self.tokens)

    @property
    def _reading(self) -> float:
        return self.times.first_token * self.size.patience * self.size.reading

    @property
    def _silence(self) -> float:
        return self.times.silence * self.size.patience

    @property
    def _longest(self) -> float:
        return self._reading + self.size.output_tokens / self.times.tokens_per_second


def _rounded(seconds: float) -> str:
    return f"{round(seconds, 2 if seconds < 10 else 0):g}"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The bounds of one model call. All times are in seconds.

    `retries` are the tries after the first. A reply has to begin within `total_seconds`, with all
    tries and waits until then; each try has its own limits, see `time_limits`. The waits grow from
    `first_wait_seconds` to `longest_wait_seconds`, unless the provider asks for longer ones, up to
    `longest_requested_seconds`.
    """

    retries: int = 4
    total_seconds: float = 300.0
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 8.0
    longest_requested_seconds: float = 10.0

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
        if (error.retry_after_seconds or 0.0) > self.longest_requested_seconds:
            return None
        grown = self.first_wait_seconds * 2.0 ** (tries - 1)
        longest = min(grown, self.longest_wait_seconds)
        asked_wait = (error.retry_after_seconds or 0.0) * (1 + jitter / 10)
        pause = max(asked_wait, longest * (0.5 + jitter / 2))
        return pause if spent + pause < self.total_seconds else None
