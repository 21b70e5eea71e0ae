"""Commits: load, decide, commit; on a conflict, decide again. Every change of a record is made
here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from jobs.counting import count_change, count_passes
from jobs.errors import Contended, StoreUnavailable
from jobs.model.record import JobRecord, Status
from jobs.model.spec import JobKind
from jobs.store import ConversationEntry, LeaseRef, Loaded
from jobs.store.outbox import deliveries_of
from jobs.store.redis_store import RedisStore
from jobs.transitions import lifecycle
from jobs.transitions.change import Change, Refusal

MAX_TRIES = 20
MAX_UNFINISHED = 1_000
"""More jobs than a benchmark has unfinished."""
EXERCISE_KINDS = (JobKind.EXERCISE, JobKind.VERIFICATION)
"""The kinds of the jobs of a benchmark, which have its label."""
UNKNOWN = Refusal("unknown", "there is no such job")

Decide = Callable[[JobRecord, int], Change | Refusal]
"""Makes the change, from the record and Redis' time in ms."""


def benchmark_label(benchmark_id: str) -> str:
    """The label of the jobs of a benchmark."""
    return f"benchmark={benchmark_id}"


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
        loaded_before: Loaded | None = None,
        send_hints: bool = True,
    ) -> JobRecord | Refusal:
        """Decide and commit until no other change came in between.

        `entry` makes the entry of the conversation. `first`: the job must be the first of its line.
        `loaded_before`: the job, if the caller has just read it. `send_hints`: send a hint if the
        job can run then.
        """
        for _ in range(MAX_TRIES):
            loaded, loaded_before = loaded_before or await self.store.load(job_id), None
            if loaded is None:
                return UNKNOWN
            decision = decide(loaded.record, loaded.now)
            if isinstance(decision, Refusal):
                return decision
            decision = await self._add_counts(loaded.record, decision)
            messages = deliveries_of(decision)
            deliveries = await self.store.webhooks.address(messages, operator=self._webhooks)
            decision = replace(decision, deliveries=deliveries)
            new_entry = entry(decision.after) if entry else None
            if await self.store.commit(loaded.record, decision, entry=new_entry, first=first):
                if send_hints:
                    await self.send_hints(decision.after)
                if decision.after.status is Status.FAILED:
                    # the change is on record; see `end_left_exercise` for the exercises
                    with contextlib.suppress(StoreUnavailable, Contended):
                        await self.end_exercises(decision.after, _cancel_by(decision.after))
                return decision.after
            if first and (wait := await self.refuse_out_of_line(loaded.record)):
                return wait
        raise Contended(f"job {job_id} kept changing")

    async def change_leased(
        self,
        lease: LeaseRef,
        decide: Decide,
        entry: Callable[[JobRecord], ConversationEntry] | None = None,
    ) -> JobRecord | Refusal:
        """A change by the attempt that holds `lease`. An old epoch is refused (J5)."""

        def fenced(record: JobRecord, now: int) -> Change | Refusal:
            if record.epoch != lease.epoch:
                return Refusal("stale_epoch", f"epoch {lease.epoch} is over", record.status)
            return decide(record, now)

        return await self.change(lease.job_id, fenced, entry)

    async def send_hints(self, changed: JobRecord) -> None:
        """Send a hint at the job if it is queued, or at the next job of its line if it is final."""
        if changed.status is Status.QUEUED and changed.hints > 0:
            self.hint(changed)
        elif changed.status.final:
            # the change is on record even if Redis no longer answers; the sweeper also sends hints
            with contextlib.suppress(StoreUnavailable):
                head = await self.store.next_in_line(changed.tenant, changed.conversation_id)
                loaded = await self.store.load(head) if head else None
                if loaded is not None and loaded.record.status is Status.QUEUED:
                    self.hint(loaded.record)

    async def end_exercises(self, benchmark: JobRecord, cancel: Decide) -> None:
        """Cancel the unfinished jobs of a benchmark that has ended, after which no job is added. A
        job of another kind has none."""
        if benchmark.spec.kind is not JobKind.BENCHMARK:
            return
        pages = [
            await self.store.page(
                benchmark.tenant,
                limit=MAX_UNFINISHED,
                offset=0,
                status=status,
                kind=kind,
                label=benchmark_label(benchmark.id),
            )
            for kind in EXERCISE_KINDS
            for status in (Status.QUEUED, Status.RUNNING, Status.AWAITING_REVIEW)
        ]
        for exercise in (record for page in pages for record in page.records):
            await self.change(exercise.id, cancel)

    async def end_left_exercise(self, exercise: JobRecord) -> bool:
        """Cancel a job of a benchmark that has ended, if `end_exercises` has not reached it."""
        labels = exercise.spec.labels if exercise.spec.kind in EXERCISE_KINDS else ()
        prefix = benchmark_label("")
        for label in labels:
            if not label.startswith(prefix):
                continue
            loaded = await self.store.load(label.removeprefix(prefix))
            if loaded is not None and _has_given_up(loaded.record, exercise.tenant):
                await self.change(exercise.id, _cancel_by(loaded.record))
                return True
        return False

    async def _add_counts(self, before: JobRecord, change: Change) -> Change:
        """Add the counts. The counts of a job's end are made of all its events."""
        after = change.after
        if not after.status.final:
            return replace(change, counts=count_change(before, change, (), ()))
        events, charges = await asyncio.gather(
            self.store.events(after.id), self.store.charges(after.id)
        )
        final_change = replace(change, after=replace(after, revisions=count_passes(events)))
        counts = count_change(before, final_change, events, charges)
        return replace(final_change, counts=counts, paid_calls=len(charges))

    async def refuse_out_of_line(self, record: JobRecord) -> Refusal | None:
        """The refusal of a job that is not the first of its conversation's line."""
        head = await self.store.next_in_line(record.tenant, record.conversation_id)
        if head in (None, record.id):
            return None
        return Refusal("waits_in_line", f"job {head} of its conversation comes first")


def _has_given_up(record: JobRecord, tenant: str) -> bool:
    """Whether it is a benchmark of the tenant that has ended before its exercises."""
    has_ended = record.status in (Status.FAILED, Status.CANCELLED)
    return has_ended and record.spec.kind is JobKind.BENCHMARK and record.tenant == tenant


def _cancel_by(benchmark: JobRecord) -> Decide:
    return partial(lifecycle.cancel, by=f"benchmark {benchmark.id}")
