"""The outbox: what a webhook has to be told, written in the step that makes it so, and sent later.

A delivery is sent at least once: whoever takes it has it for the time of his lease, and takes it
out when it has arrived. One that never arrives is dead after some tries, and stays to be seen.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping

from jobs.transitions.change import Change, Delivery

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
FIRST_DELAY_MS = 5_000
MOST_DELAY_MS = 4 * 3_600_000


def deliveries_of(change: Change) -> tuple[Delivery, ...]:
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


def retry_delay_ms(tries: int, chance: Callable[[], float] = random.random) -> int | None:
    """How long a delivery rests behind so many tries; None: it was tried often enough.

    Tripled each time, and spread over half of it, so that what failed together does not come back
    together. All of them take about a day.
    """
    if tries >= MOST_TRIES:
        return None
    delay = min(FIRST_DELAY_MS * 3 ** (tries - 1), MOST_DELAY_MS)
    return int(delay * (0.75 + chance() / 2))
