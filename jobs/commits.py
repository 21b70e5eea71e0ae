"""Load, decide, commit; on conflict, decide again: how every change of a record is made."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace

from jobs.counting import counted, passes
from jobs.errors import Contended, StoreUnavailable
from jobs.model.record import JobRecord, Status
from jobs.store import ConversationEntry, LeaseRef, Loaded
from jobs.store.outbox import deliveries_of
from jobs.store.redis_store import RedisStore
from jobs.transitions.change import Change, Refusal

TRIES = 20
UNKNOWN = Refusal("unknown", "there is no such job")

Decide = Callable[[JobRecord, int], Change | Refusal]
"""What a change comes to, by the record and the store's time in ms."""


class Commits:
    """Makes changes in one store, and sends their hints: see `jobs.service`."""

    def __init__(
        self, store: RedisStore, hint: Callable[[JobRecord], None], *, webhooks: bool = False
    ) -> None:
        self.store = store
        self.hint = hint
        self._webhooks = webhooks

    async def change(
        self,
        job_id: str,
        decide: Decide,
        entry: Callable[[JobRecord], ConversationEntry] | None = None,
        *,
        first: bool = False,
        known: Loaded | None = None,
        nudges: bool = True,
    ) -> JobRecord | Refusal:
        """Decide and commit, until nothing changed in between; then send a hint where a job can run
        (`nudges`). `first`: it must be at the head of its line; `known`: the job as it was read
        just now.
        """
        for _ in range(TRIES):
            loaded, known = known or await self.store.load(job_id), None
            if loaded is None:
                return UNKNOWN
            decided = decide(loaded.record, loaded.now)
            if isinstance(decided, Refusal):
                return decided
            decided = await self._counted(loaded.record, decided)
            if self._webhooks:
                decided = replace(decided, deliveries=deliveries_of(decided))
            written = entry(decided.after) if entry else None
            if await self.store.commit(loaded.record, decided, entry=written, first=first):
                if nudges:
                    await self.nudge(decided.after)
                return decided.after
            if first and (waits := await self._waits(loaded.record)):
                return waits
        raise Contended(f"job {job_id} kept changing")

    async def own(
        self,
        held: LeaseRef,
        decide: Decide,
        entry: Callable[[JobRecord], ConversationEntry] | None = None,
    ) -> JobRecord | Refusal:
        """A change by the attempt that holds `held`: an old epoch is refused (J5)."""

        def fenced(record: JobRecord, now: int) -> Change | Refusal:
            if record.epoch != held.epoch:
                return Refusal("stale_epoch", f"epoch {held.epoch} is over", record.status)
            return decide(record, now)

        return await self.change(held.job_id, fenced, entry)

    async def nudge(self, changed: JobRecord) -> None:
        """Send a hint: for this job where it is queued, for the next in line where it ended."""
        if changed.status is Status.QUEUED and changed.hints > 0:
            self.hint(changed)
        elif changed.status.final:
            # the change stands even if Redis no longer answers: the sweeper sends hints, too
            with contextlib.suppress(StoreUnavailable):
                head = await self.store.next_in_line(changed.tenant, changed.conversation_id)
                loaded = await self.store.load(head) if head else None
                if loaded is not None and loaded.record.status is Status.QUEUED:
                    self.hint(loaded.record)

    async def _counted(self, before: JobRecord, change: Change) -> Change:
        """The change with its counts. Those of a job's end are made of all its events."""
        after = change.after
        if not after.status.final:
            return replace(change, counts=counted(before, change, (), ()))
        events, charges = await asyncio.gather(
            self.store.events(after.id), self.store.charges(after.id)
        )
        ended = replace(change, after=replace(after, revisions=passes(events)))
        counts = counted(before, ended, events, charges)
        return replace(ended, counts=counts, paid_calls=len(charges))

    async def _waits(self, record: JobRecord) -> Refusal | None:
        head = await self.store.next_in_line(record.tenant, record.conversation_id)
        if head in (None, record.id):
            return None
        return Refusal("waits_in_line", f"job {head} of its conversation comes first")
