"""KeyLimits: what the jobs of an API key may spend on a day, read anew every few seconds."""

from __future__ import annotations

import time

from jobs.budgets import Cap, billionths
from jobs.credentials import Credential, Credentials
from worker.patience import patient

FRESH_SECONDS = 5.0


class KeyLimits:
    """Of one process. `default` holds for keys that have no limit of their own.

    Every model call of every job asks, so an answer holds for a few seconds: where no key has a
    limit, no call costs a round trip.
    """

    def __init__(self, credentials: Credentials, default: Cap) -> None:
        self._credentials = credentials
        self._default = default
        self._known: dict[str, tuple[Cap, float]] = {}

    async def of(self, key_id: str) -> Cap:
        """The limits of a key; a job that no key has brought has none. Raises StoreUnavailable."""
        if not key_id:
            return Cap()
        now = time.monotonic()
        cap, until = self._known.get(key_id, (Cap(), 0.0))
        if now < until:
            return cap
        cap = self._cap(await patient(lambda: self._credentials.get(key_id)))
        self._known = {each: known for each, known in self._known.items() if known[1] > now}
        self._known[key_id] = (cap, now + FRESH_SECONDS)
        return cap

    def _cap(self, key: Credential | None) -> Cap:
        if key is None:  # the configured one is on no record
            return self._default
        dollars, tokens = key.max_cost_usd_per_day, key.max_tokens_per_day
        return Cap(
            self._default.cost if dollars is None else billionths(dollars),
            self._default.tokens if tokens is None else tokens,
        )
