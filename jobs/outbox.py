"""The outbox: messages to the webhook, written in the same step as the change, and sent later.

A delivery is sent at least once: a worker leases it, sends it, and removes it when it has arrived.
A delivery that never arrives is dead after some tries, and stays listed.

Why: docs/decisions/0020-deliveries-and-counts-in-the-commit.md
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
"""The type of message, by the kind of a job's event."""
MOST_TRIES = 14
FIRST_DELAY_MS = 5_000
MOST_DELAY_MS = 4 * 3_600_000


def deliveries_of(change: Change) -> tuple[Delivery, ...]:
    """The messages of a change. A message's id is made of its event's key, so it is unique."""
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
                **({"unapproved": after.unapproved} if after.status.final else {}),
                **event.data,
            },
        )
        for event in change.events
        if event.kind in KINDS
    )


def retry_delay_ms(tries: int, chance: Callable[[], float] = random.random) -> int | None:
    """How long to wait after so many tries; None: it was tried often enough.

    Tripled each time, with random jitter of half its length, so that deliveries that failed
    together are not retried together. All tries take about a day.
    """
    if tries >= MOST_TRIES:
        return None
    delay = min(FIRST_DELAY_MS * 3 ** (tries - 1), MOST_DELAY_MS)
    return int(delay * (0.75 + chance() / 2))
