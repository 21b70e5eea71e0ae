"""The outbox: what a webhook has to be told, written in the step that makes it so, and sent later.

A delivery is sent at least once: whoever takes it has it for the time of his lease, and takes it
out when it has arrived. One that never arrives is dead after some tries, and stays to be seen.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from jobs.change import Change
from jobs.delivery import Delivery

KINDS: Mapping[str, str] = {
    "review_opened": "review.opened",
    "review_reminded": "review.reminded",
    "review_escalated": "review.escalated",
    "review_expired": "review.expired",
    "voted": "review.approved",
    "decided": "review.decided",
    "succeeded": "job.finished",
    "failed": "job.finished",
    "cancelled": "job.finished",
}
"""What is told of, by the kind of a job's event."""
MOST_TRIES = 14
FIRST_REST_MS = 5_000
MOST_REST_MS = 4 * 3_600_000
DEAD_KEPT = 1_000
"""Dead deliveries that are kept, the newest."""


class Outbox(Protocol):
    """Where deliveries wait. Raises StoreUnavailable when that cannot be reached in time."""

    async def take(self, limit: int, lease_ms: int) -> Sequence[Delivery]:
        """Those that are due; nobody else gets them while the lease runs."""
        ...

    async def arrived(self, delivery: Delivery) -> None:
        """It need not be sent again."""
        ...

    async def missed(self, delivery: Delivery, error: str, rest_ms: int | None) -> bool:
        """It is tried again after `rest_ms`; None: it is dead. False: somebody else has it by now.

        `delivery` is as it was taken."""
        ...

    async def again(self, delivery_id: str) -> bool:
        """A dead one begins anew; False where there is none."""
        ...

    async def waiting(self, limit: int) -> tuple[Sequence[Delivery], int]:
        """Those that have not arrived yet, and how many there are."""
        ...

    async def dead(self, limit: int) -> tuple[Sequence[Delivery], int]:
        """Those that are tried no more, the newest first, and how many there are."""
        ...


def told(change: Change) -> tuple[Delivery, ...]:
    """What a change has to tell. An id is made of the fact that it tells, which is told once."""
    after = change.after
    return tuple(
        Delivery(
            id=f"msg_{hashlib.sha256(f'{after.id}:{event.key}'.encode()).hexdigest()[:32]}",
            type=KINDS[event.kind],
            tenant=after.tenant,
            job_id=after.id,
            at=after.updated_at,
            data={
                "job_id": after.id,
                "tenant": after.tenant,
                "status": str(after.status),
                "labels": list(after.spec.labels),
                "event": event.kind,
                **event.data,
            },
        )
        for event in change.events
        if event.kind in KINDS
    )


def rest_ms(tries: int, chance: Callable[[], float] = random.random) -> int | None:
    """How long a delivery rests behind so many tries; None: it was tried often enough.

    Doubled each time, and spread over half of it, so that what failed together does not come back
    together. All of them take about a day.
    """
    if tries >= MOST_TRIES:
        return None
    rest = min(FIRST_REST_MS * 3 ** (tries - 1), MOST_REST_MS)
    return int(rest * (0.75 + chance() / 2))


class MemoryOutbox:
    """The Outbox of one process."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._waiting: dict[str, Delivery] = {}
        self._dead: dict[str, Delivery] = {}

    def add(self, deliveries: Sequence[Delivery]) -> None:
        """Put these into it, due at once."""
        for each in deliveries:
            self._waiting[each.id] = replace(each, due_at=self._clock())

    async def take(self, limit: int, lease_ms: int) -> Sequence[Delivery]:
        """See Outbox."""
        now = self._clock()
        due = sorted((d for d in self._waiting.values() if d.due_at <= now), key=_when)[:limit]
        for each in due:
            self._waiting[each.id] = replace(each, tries=each.tries + 1, due_at=now + lease_ms)
        return [self._waiting[each.id] for each in due]

    async def arrived(self, delivery: Delivery) -> None:
        """See Outbox."""
        self._waiting.pop(delivery.id, None)

    async def missed(self, delivery: Delivery, error: str, rest_ms: int | None) -> bool:
        """See Outbox."""
        stands = self._waiting.get(delivery.id)
        if stands is None or stands.tries != delivery.tries:
            return False
        if rest_ms is not None:
            due_at = self._clock() + rest_ms
            self._waiting[delivery.id] = replace(stands, error=error, due_at=due_at)
            return True
        del self._waiting[delivery.id]
        self._dead[delivery.id] = replace(stands, error=error, due_at=self._clock())
        while len(self._dead) > DEAD_KEPT:
            del self._dead[next(iter(self._dead))]
        return True

    async def again(self, delivery_id: str) -> bool:
        """See Outbox."""
        if (dead := self._dead.pop(delivery_id, None)) is None:
            return False
        self.add([replace(dead, tries=0)])
        return True

    async def waiting(self, limit: int) -> tuple[Sequence[Delivery], int]:
        """See Outbox."""
        found = sorted(self._waiting.values(), key=_when)
        return found[:limit], len(found)

    async def dead(self, limit: int) -> tuple[Sequence[Delivery], int]:
        """See Outbox."""
        return list(reversed(self._dead.values()))[:limit], len(self._dead)


def _when(delivery: Delivery) -> tuple[int, str]:
    return delivery.due_at, delivery.id
