"""DayLimits: what the jobs of an API key, and of a tenant, may spend on a day, read anew every few
seconds."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from jobs.budgets import Cap, billionths
from jobs.credentials import Credential, TenantLimits
from jobs.store.credentials import Credentials
from worker.patience import patient

FRESH_SECONDS = 5.0


class DayLimits:
    """Of one process. `key` and `tenant` hold for those that have no limit of their own.

    Every model call of every job asks, so an answer holds for a few seconds: where nothing is
    limited, no call costs a round trip.
    """

    def __init__(self, credentials: Credentials, key: Cap, tenant: Cap) -> None:
        self._credentials = credentials
        self._key = key
        self._tenant = tenant
        self._known: dict[str, tuple[Cap, float]] = {}

    async def of_key(self, key_id: str) -> Cap:
        """The limits of a key; a job that no key has brought has none. Raises StoreUnavailable."""
        if not key_id:
            return Cap()

        async def read() -> Cap:  # the configured key is on no record
            return _own(await self._credentials.get(key_id), self._key)

        return await self._fresh(f"key:{key_id}", read)

    async def of_tenant(self, name: str) -> Cap:
        """The limits of a tenant. Raises StoreUnavailable."""

        async def read() -> Cap:
            return _own(await self._credentials.tenant(name), self._tenant)

        return await self._fresh(f"tenant:{name}", read)

    async def _fresh(self, name: str, read: Callable[[], Awaitable[Cap]]) -> Cap:
        now = time.monotonic()
        cap, until = self._known.get(name, (Cap(), 0.0))
        if now < until:
            return cap
        cap = await patient(read)
        self._known = {each: known for each, known in self._known.items() if known[1] > now}
        self._known[name] = (cap, now + FRESH_SECONDS)
        return cap


def _own(limits: Credential | TenantLimits | None, default: Cap) -> Cap:
    if limits is None:
        return default
    dollars, tokens = limits.max_cost_usd_per_day, limits.max_tokens_per_day
    return Cap(
        default.cost if dollars is None else billionths(dollars),
        default.tokens if tokens is None else tokens,
    )
