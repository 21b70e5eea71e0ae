"""What the house may do to a job: load, decide (lifecycle), commit; on conflict, decide again.

Each operation returns the new record, or the Refusal that says why it does not apply.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from jobs import expiry, inheritance, lifecycle
from jobs.errors import Contended, StoreUnavailable
from jobs.events import current, last_known
from jobs.lifecycle import Change, Policy, Refusal
from jobs.record import JobRecord, Reason, Result, Status
from jobs.review import Decision, Review
from jobs.spec import JobSpec, Priority
from jobs.store import Existing, Held, Idempotency, Loaded, Store, Turn

TRIES = 20
UNKNOWN = Refusal("unknown", "there is no such job")


@dataclass(frozen=True, slots=True)
class Submitted:
    """An accepted job; `new` is False where an idempotency key had brought it before."""

    record: JobRecord
    new: bool


class Operations:
    """The operations over one store. `hint(job_id, priority)` sends a Celery message, or nothing:
    it must not raise and must not wait, since losing it does not matter."""

    def __init__(
        self, store: Store, hint: Callable[[str, Priority], None], policy: Policy | None = None
    ) -> None:
        self.store = store
        self._hint = hint
        self._policy = policy or Policy()

    async def submit(
        self,
        tenant: str,
        spec: JobSpec,
        *,
        by: str,
        key_id: str = "",
        request_id: str = "",
        idempotency: Idempotency | None = None,
        blobs: Sequence[str] = (),
    ) -> Submitted | Refusal:
        """Put a job on record; it is durable when this returns (J1).

        `blobs` are the digests of the bytes that came with it.
        """
        job_id = secrets.token_hex(10)
        now = await self.store.now()
        change = lifecycle.submit(
            job_id, tenant, spec, now, by=by, request_id=request_id, key_id=key_id
        )
        existing = await self.store.create(change, idempotency, blobs)
        if existing is None:
            self._hint(job_id, spec.priority)
            return Submitted(change.after, new=True)
        return await self._known(existing, idempotency)

    async def try_anew(
        self, job_id: str, *, by: str, key_id: str = "", request_id: str = ""
    ) -> JobRecord | Refusal:
        """A new job that tries a failed or cancelled one again, from where that had come to."""
        loaded = await self.store.load(job_id)
        if loaded is None:
            return UNKNOWN
        told = await self.store.events(job_id)
        heir_id = secrets.token_hex(10)
        change = inheritance.anew(
            loaded.record,
            told,
            heir_id,
            loaded.now,
            by=by,
            request_id=request_id,
            key_id=key_id,
        )
        if isinstance(change, Refusal):
            return change
        await self.store.create(change, parent=loaded.record)
        self._hint(heir_id, change.after.spec.priority)
        return change.after

    async def claim(
        self, job_id: str, worker: str, *, alone: bool = False, reads: Collection[int] | None = None
    ) -> JobRecord | Refusal:
        """Take a lease. Only the first job of a conversation's line can be claimed."""
        return await self._change(
            job_id,
            lambda record, now: lifecycle.claim(
                record, now, worker=worker, policy=self._policy, alone=alone, reads=reads
            ),
            first=True,
        )

    async def pause(self, held: Held, review: Review) -> JobRecord | Refusal:
        """Ask a person, and let go of the job."""
        return await self._own(
            held, lambda record, now: lifecycle.pause(record, now, review=review)
        )

    async def decide(self, job_id: str, decision: Decision) -> JobRecord | Refusal:
        """Apply a person's Decision; what is then queued gets its hint."""
        changed = await self._change(
            job_id, lambda record, now: lifecycle.decide(record, now, decision=decision)
        )
        return await self._nudged(changed)

    async def cancel(self, job_id: str, by: str) -> JobRecord | Refusal:
        """End a job for good, from any state that is not final."""
        changed = await self._change(
            job_id, lambda record, now: lifecycle.cancel(record, now, by=by)
        )
        return await self._nudged(changed)

    async def succeed(self, held: Held, result: Result, summary: str) -> JobRecord | Refusal:
        """End a job with its result, and add it to its conversation."""

        def turn(record: JobRecord) -> Turn:
            return Turn(record.id, record.spec.task, summary, record.workspace)

        changed = await self._own(
            held, lambda record, now: lifecycle.succeed(record, now, result=result), turn
        )
        return await self._nudged(changed)

    async def fail(
        self, held: Held, reason: Reason, detail: str, result: Result | None = None
    ) -> JobRecord | Refusal:
        """End a job without success."""
        changed = await self._own(
            held,
            lambda record, now: lifecycle.fail(
                record, now, reason=reason, detail=detail, result=result
            ),
        )
        return await self._nudged(changed)

    async def retry(self, held: Held, reason: Reason, detail: str) -> JobRecord | Refusal:
        """Infrastructure trouble: later again, or failed when that was tried often enough."""
        changed = await self._own(
            held,
            lambda record, now: lifecycle.retry(
                record, now, reason=reason, detail=detail, policy=self._policy
            ),
        )
        return await self._nudged(changed)

    async def give_back(self, held: Held, detail: str) -> JobRecord | Refusal:
        """The worker drains: the job is queued again with its checkpoint."""
        changed = await self._own(
            held,
            lambda record, now: lifecycle.give_back(record, now, why="drained", detail=detail),
        )
        return await self._nudged(changed)

    async def sweep(self, together: int = 32) -> int:
        """Look at all jobs whose time has come: hint those that wait, take back lost leases (J8),
        and let reviews expire.

        Returns how many were changed; `together` are looked at side by side. A job that cannot be
        looked at hinders no other: what it raised is raised when all others have had their turn.
        """
        swept = await self._sweep(self.store.due, self._look, together)
        return swept + await self._sweep(self.store.overdue, self._look_at_review, together)

    async def _sweep(
        self,
        found: Callable[[int], Awaitable[Sequence[str]]],
        look: Callable[[str], Awaitable[bool]],
        together: int,
    ) -> int:
        total = 0
        while True:
            due = await found(together)
            looks = await asyncio.gather(*map(look, due), return_exceptions=True)
            changed = sum(each is True for each in looks)
            total += changed
            if changed == 0 or len(due) < together:
                break
        for each in looks:
            if isinstance(each, BaseException):
                raise each
        return total

    async def _look(self, job_id: str) -> bool:
        loaded = await self.store.load(job_id)
        alone = loaded is not None and loaded.record.lease is not None and loaded.record.lease.alone
        place = last_known(await self.store.events(job_id)) if alone else ""
        swept = await self._change(
            job_id, lambda record, now: _sweep(record, now, place), known=loaded
        )
        if isinstance(swept, Refusal):
            return False
        head = await self.store.next_in_line(swept.tenant, swept.conversation_id)
        if swept.status.final or head == swept.id:  # others wait for their turn, not for a hint
            await self._nudge(swept)
        return True

    async def _look_at_review(self, job_id: str) -> bool:
        told = current(await self.store.events(job_id))
        evidence = any(fact.data["succeeded"] for fact in told if fact.kind == "run_finished")
        expired = await self._change(
            job_id, lambda record, now: expiry.expire(record, now, evidence=evidence)
        )
        return isinstance(await self._nudged(expired), JobRecord)

    async def _known(
        self, existing: Existing, idempotency: Idempotency | None
    ) -> Submitted | Refusal:
        if idempotency is None or existing.body_digest != idempotency.body_digest:
            return Refusal("key_reused", "this Idempotency-Key came with another body before")
        loaded = await self.store.load(existing.job_id)
        return Submitted(loaded.record, new=False) if loaded else UNKNOWN

    async def _nudged(self, changed: JobRecord | Refusal) -> JobRecord | Refusal:
        if isinstance(changed, JobRecord):
            # what was committed stands, whether or not Redis still answers: the sweeper hints too
            with contextlib.suppress(StoreUnavailable):
                await self._nudge(changed)
        return changed

    async def _nudge(self, changed: JobRecord) -> None:
        """Hint a worker: at this job where it is due, at the next in line where it ended."""
        if changed.status is Status.QUEUED and changed.hints > 0:
            self._hint(changed.id, changed.spec.priority)
        elif changed.status.final:
            head = await self.store.next_in_line(changed.tenant, changed.conversation_id)
            loaded = await self.store.load(head) if head else None
            if loaded is not None and loaded.record.status is Status.QUEUED:
                self._hint(loaded.record.id, loaded.record.spec.priority)

    async def _own(
        self,
        held: Held,
        decide: Callable[[JobRecord, int], Change | Refusal],
        turn: Callable[[JobRecord], Turn] | None = None,
    ) -> JobRecord | Refusal:
        """A change by the attempt that holds `held`: an old epoch is refused (J5)."""

        def fenced(record: JobRecord, now: int) -> Change | Refusal:
            if record.epoch != held.epoch:
                return Refusal("stale_epoch", f"epoch {held.epoch} is over", record.status)
            return decide(record, now)

        return await self._change(held.job_id, fenced, turn)

    async def _change(
        self,
        job_id: str,
        decide: Callable[[JobRecord, int], Change | Refusal],
        turn: Callable[[JobRecord], Turn] | None = None,
        *,
        first: bool = False,
        known: Loaded | None = None,
    ) -> JobRecord | Refusal:
        """Decide and commit, until nothing moved in between. `first`: at the head of its line;
        `known`: as the job was read just now.
        """
        for _ in range(TRIES):
            loaded, known = known or await self.store.load(job_id), None
            if loaded is None:
                return UNKNOWN
            decided = decide(loaded.record, loaded.now)
            if isinstance(decided, Refusal):
                return decided
            said = turn(decided.after) if turn else None
            if await self.store.commit(loaded.record, decided, turn=said, first=first):
                return decided.after
            if first and (waits := await self._waits(loaded.record)):
                return waits
        raise Contended(f"job {job_id} kept changing")

    async def _waits(self, record: JobRecord) -> Refusal | None:
        head = await self.store.next_in_line(record.tenant, record.conversation_id)
        if head in (None, record.id):
            return None
        return Refusal("waits_in_line", f"job {head} of its conversation comes first")


def _sweep(record: JobRecord, now: int, place: str) -> Change | Refusal:
    if record.lease is not None:
        return lifecycle.expire(record, now, place=place)
    return lifecycle.hint(record, now)
