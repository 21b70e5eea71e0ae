"""Admission: whether a new job is accepted now; how full the house is, is read once a second."""

from __future__ import annotations

import time

from api import problems
from api.problems import Refused
from jobs import admission
from jobs.admission import Load, Room
from jobs.store import Store

FRESH_SECONDS = 1.0
WAITS = {admission.QUEUE_FULL: "5", admission.STORE_FULL: "30"}
"""Seconds for Retry-After: a queue moves, memory is freed by retention or by an operator."""
KINDS = {
    admission.QUEUE_FULL: problems.QUEUE_FULL,
    admission.STORE_FULL: problems.STORE_FULL,
}


class Admission:
    """The doorkeeper of one API process."""

    def __init__(self, store: Store, room: Room) -> None:
        self._store = store
        self._room = room
        self._load: Load | None = None
        self._read_at = 0.0

    async def check(self) -> None:
        """Raise Refused (429 or 503, with Retry-After) where there is no room for another job."""
        now = time.monotonic()
        if self._load is None or now - self._read_at > FRESH_SECONDS:
            self._load, self._read_at = await self._store.load_now(), now
        refusal = admission.refusal(self._load, self._room)
        if refusal is not None:
            headers = {"Retry-After": WAITS[refusal.code]}
            raise Refused(KINDS[refusal.code], refusal.detail, headers=headers)
