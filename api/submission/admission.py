"""Admission: whether a tenant's new job is accepted now. The load is read once a second."""

from __future__ import annotations

import time

from api import problems
from api.problems import Refused
from jobs.queue import admission
from jobs.queue.admission import AdmissionLimits, SystemLoad
from jobs.store.redis_store import RedisStore

FRESH_SECONDS = 1.0
MOST_TENANTS = 1_000
WAITS = {admission.QUEUE_FULL: "5", admission.STORE_FULL: "30"}
"""Retry-After: a queue moves within seconds, memory is freed by retention or by an operator."""
KINDS = {
    admission.QUEUE_FULL: problems.QUEUE_FULL,
    admission.STORE_FULL: problems.STORE_FULL,
}


class Admission:
    """Admission control of one API process."""

    def __init__(self, store: RedisStore, limits: AdmissionLimits) -> None:
        self._store = store
        self._limits = limits
        self._read: dict[str, tuple[float, SystemLoad]] = {}

    async def check(self, tenant: str) -> None:
        """Raise Refused (429 or 503, with Retry-After) where the service takes no further job."""
        now = time.monotonic()
        read_at, load = self._read.get(tenant, (0.0, None))
        if load is None or now - read_at > FRESH_SECONDS:
            load = await self._store.load_now(tenant)
            if len(self._read) >= MOST_TENANTS:
                self._read.clear()
            self._read[tenant] = (now, load)
        refusal = admission.refusal(load, self._limits)
        if refusal is not None:
            headers = {"Retry-After": WAITS[refusal.code]}
            raise Refused(KINDS[refusal.code], refusal.detail, headers=headers)
