"""Operations: every command on a job. Load, decide (transitions), commit; on a conflict, decide
again.

Each operation returns the new record, or a Refusal with the reason why the command does not apply.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Unpack

from jobs.audit.entries import Actor
from jobs.commits import UNKNOWN, Commits
from jobs.errors import StoreUnavailable
from jobs.model.credentials import Signer
from jobs.model.record import (
    Cause,
    Continuation,
    JobRecord,
    Reason,
    Result,
    Status,
    Wait,
    new_job_id,
)
from jobs.model.review import Decision, Review
from jobs.model.spec import JobSpec
from jobs.store import ENTRIES_KEPT, ConversationEntry, Existing, Idempotency, LeaseRef, Loaded
from jobs.store.redis_store import RedisStore
from jobs.sweep import sweep
from jobs.transitions import lifecycle, rebase, retry
from jobs.transitions.lifecycle import Change, Policy, Refusal, Submitter
from jobs.transitions.messages import REPEATED, add_message, make_entry
from jobs.transitions.reviews import assign, list_authors


@dataclass(frozen=True, slots=True)
class Submission:
    """An accepted job, or an accepted message to a job."""

    record: JobRecord
    is_new: bool
    """False: its idempotency key was used before."""


class Operations:
    """The operations on one store.

    `hint` sends a hint at a job. It must not raise or wait; a lost hint does no harm. `webhooks`:
    the operator has a webhook; changes also go into its outbox.
    """

    def __init__(
        self,
        store: RedisStore,
        hint: Callable[[JobRecord], None],
        policy: Policy | None = None,
        *,
        webhooks: bool = False,
    ) -> None:
        self.store = store
        self._hint = hint
        self._commits = Commits(store, hint, webhooks=webhooks)
        self.policy = policy or Policy()

    async def submit(
        self,
        tenant: str,
        spec: JobSpec,
        *,
        idempotency: Idempotency | None = None,
        blobs: Sequence[str] = (),
        lease: LeaseRef | None = None,
        authors: tuple[Signer, ...] = (),
        **submitter: Unpack[Submitter],
    ) -> Submission | Refusal:
        """Put a job on record; it is durable when this returns (J1). If the job of the same
        `idempotency` key is on record, return that job: the key is a guard of the commit.

        `blobs` are the digests of the bytes that came with it. `lease`: of the attempt that submits
        the job. `authors`: of the earlier jobs of its conversation. Raises StaleEpoch if the
        attempt has lost the lease.
        """
        now = await self.store.now()
        change = lifecycle.submit(new_job_id(), tenant, spec, now, authors=authors, **submitter)
        return await self._create(change, idempotency, blobs, lease=lease)

    async def find_submission(
        self, tenant: str, idempotency: Idempotency | None
    ) -> Submission | Refusal | None:
        """The job that an idempotency key names already; None if the key is new, or if there is no
        key."""
        if idempotency is None:
            return None
        existing = await self.store.find_existing(tenant, idempotency.key)
        return await self._submission_of(existing, idempotency) if existing else None

    async def retry_as_new_job(
        self,
        job_id: str,
        spec: JobSpec | None = None,
        *,
        idempotency: Idempotency | None = None,
        **submitter: Unpack[Submitter],
    ) -> Submission | Refusal:
        """Add a job that continues a failed or cancelled job. `spec`: the spec of that job with
        other terms; None: its spec, unchanged."""

        async def retry_of(parent: Loaded) -> Change | Refusal:
            events = await self.store.events(job_id)
            return retry.retry_as_new_job(
                parent.record, events, new_job_id(), parent.now, spec=spec, **submitter
            )

        return await self._derive(job_id, retry_of, idempotency)

    async def rebase_as_new_job(
        self,
        job_id: str,
        spec: JobSpec | None = None,
        *,
        idempotency: Idempotency | None = None,
        **submitter: Unpack[Submitter],
    ) -> Submission | Refusal:
        """Add a job that starts from the approved change of a job that has ended. `spec`: the spec
        of that job with other terms; None: its spec, unchanged."""

        async def rebase_of(parent: Loaded) -> Change | Refusal:
            return rebase.rebase_as_new_job(
                parent.record, new_job_id(), parent.now, spec=spec, **submitter
            )

        return await self._derive(job_id, rebase_of, idempotency)

    async def fork_as_new_job(
        self,
        job_id: str,
        spec: JobSpec,
        *,
        idempotency: Idempotency | None = None,
        blobs: Sequence[str] = (),
        continues: Continuation | None = None,
        **submitter: Unpack[Submitter],
    ) -> Submission | Refusal:
        """Add a job with this `spec`, which starts from files of another job in any state. The
        authors of that job are also authors of the fork.

        `blobs` are the digests of further bytes that the fork refers to. `continues`: the start of
        the other job. The fork adds no commit to its branch.
        """

        async def fork_of(parent: Loaded) -> Change:
            record = parent.record
            authors, tenant, now = list_authors(record), record.tenant, parent.now
            change = lifecycle.submit(
                new_job_id(), tenant, spec, now, authors=authors, fork_of=record.id, **submitter
            )
            if continues is None:
                return change
            start = replace(continues, branch=None, workspace=spec.workspace or "")
            return replace(change, after=replace(change.after, continues=start))

        return await self._derive(job_id, fork_of, idempotency, blobs)

    async def _derive(
        self,
        job_id: str,
        derive: Callable[[Loaded], Awaitable[Change | Refusal]],
        idempotency: Idempotency | None,
        blobs: Sequence[str] = (),
    ) -> Submission | Refusal:
        """Add a job that derives from another job, and refers to the bytes of that job."""
        parent = await self.store.load(job_id)
        if parent is None:
            return UNKNOWN
        change = await derive(parent)
        if isinstance(change, Refusal):
            return change
        return await self._create(change, idempotency, blobs, parent.record)

    async def claim(
        self,
        job_id: str,
        worker: str,
        *,
        alone: bool = False,
        readable: Collection[int] | None = None,
    ) -> JobRecord | Refusal:
        """Take a lease. Only the first job of a conversation's line can be claimed. `alone` and
        `readable`: see `lifecycle.claim`."""
        if (loaded := await self.store.load(job_id)) is None:
            return UNKNOWN
        authors = await self._authors_of_earlier_jobs(loaded.record)
        if isinstance(authors, Refusal):
            return authors
        was_cancelled = await self._commits.end_left_exercise(loaded.record)
        claim = partial(
            lifecycle.claim,
            worker=worker,
            policy=self.policy,
            alone=alone,
            readable=readable,
            authors=authors,
        )
        present = None if was_cancelled else loaded
        return await self._commits.change(job_id, claim, first=True, loaded_before=present)

    async def _authors_of_earlier_jobs(self, record: JobRecord) -> tuple[Signer, ...] | Refusal:
        """The authors of the work that a follow-up starts from, at its first claim: persons may
        have edited that work since the follow-up was submitted. A rebase starts from the work of
        its parent only."""
        is_follow_up = record.conversation_id != record.id and record.spec.rebase is None
        if not is_follow_up or record.attempts or record.status is not Status.QUEUED:
            return ()
        if (wait := await self._commits.refuse_out_of_line(record)) is not None:
            return wait  # an earlier job may get further authors
        entries = await self.store.conversation(record.tenant, record.conversation_id, ENTRIES_KEPT)
        earlier = await asyncio.gather(*(self.store.load(entry.job_id) for entry in entries))
        return tuple(author for job in earlier if job for author in list_authors(job.record))

    async def hint_again(self, job_id: str) -> None:
        """Send another hint at a job that is queued."""
        if loaded := await self.store.load(job_id):
            await self._commits.send_hints(loaded.record)

    async def pause(self, lease: LeaseRef, review: Review) -> JobRecord | Refusal:
        """Open a review, and release the job."""
        return await self._commits.change_leased(lease, partial(lifecycle.pause, review=review))

    async def decide(
        self,
        job_id: str,
        decision: Decision,
        loaded: Loaded | None = None,
        same_person: Mapping[str, str] | None = None,
    ) -> JobRecord | Refusal:
        """Apply a person's Decision, and send a hint if the job is queued then. `loaded`: the job,
        if the caller has just read it. `same_person`: see `jobs.transitions.reviews.decide`.
        """
        decide = partial(lifecycle.decide, decision=decision, same_person=same_person)
        return await self._commits.change(job_id, decide, loaded_before=loaded)

    async def assign(self, job_id: str, assignee: str, actor: Actor) -> JobRecord | Refusal:
        """Record the person who looks after the open review; '': no person."""
        signed = {"by": actor.name, "key_id": actor.key_id, "person": actor.person}
        change = partial(assign, assignee=assignee, signed=signed)
        return await self._commits.change(job_id, change)

    async def add_message(
        self,
        job_id: str,
        text: str,
        actor: Actor,
        idempotency_key: str | None = None,
        same_person: Mapping[str, str] | None = None,
    ) -> Submission | Refusal:
        """Send a person's message to a job that has not ended. An Idempotency-Key names one message
        to this job: a repeated request adds no message. `same_person`: see
        `jobs.transitions.messages.add_message`."""
        signed = {"by": actor.name, "key_id": actor.key_id, "person": actor.person}
        entry = make_entry(idempotency_key, text) if idempotency_key else ""
        add = partial(add_message, text=text, signed=signed, entry=entry, same_person=same_person)
        added = await self._commits.change(job_id, add)
        if isinstance(added, JobRecord):
            return Submission(added, is_new=True)
        loaded = await self.store.load(job_id) if added.code == REPEATED else None
        return Submission(loaded.record, is_new=False) if loaded else added

    async def cancel(
        self, job_id: str, by: str, key_id: str = "", person: str = ""
    ) -> JobRecord | Refusal:
        """End a job for good, from any state that is not final; of a benchmark, also its jobs. A
        second call cancels the jobs that the first call has not reached."""
        cancel = partial(lifecycle.cancel, by=by, key_id=key_id, person=person)
        cancelled = await self._commits.change(job_id, cancel)
        record = cancelled
        if isinstance(cancelled, Refusal):  # perhaps an earlier call has cancelled it
            loaded = await self.store.load(job_id)
            record = loaded.record if loaded else cancelled
        if isinstance(record, JobRecord) and record.status is Status.CANCELLED:
            await self._commits.end_exercises(record, cancel)
        return cancelled

    async def relabel(
        self, job_id: str, change: Callable[[Sequence[str]], Sequence[str]], actor: Actor
    ) -> JobRecord | Refusal:
        """Replace the labels of a job, in any state, by those that `change` makes of its present
        labels. If the job changes in between, `change` is called again."""
        while (loaded := await self.store.load(job_id)) is not None:
            labels = change(loaded.record.spec.labels)
            if (changed := await self.store.relabel(loaded.record, labels, actor)) is not None:
                return changed
        return UNKNOWN

    async def delete(self, job_id: str, actor: Actor) -> Refusal | None:
        """Remove a final job with all its data, by a person. None: the job is removed."""
        while (loaded := await self.store.load(job_id)) is not None:
            if not loaded.record.status.final:
                detail = f"the job is {loaded.record.status}: cancel it first"
                return Refusal("not_final", detail, loaded.record.status)
            if await self.store.remove(loaded.record, actor):
                return None
        return UNKNOWN

    async def succeed(
        self, lease: LeaseRef, result: Result, summary: str | None = None
    ) -> JobRecord | Refusal:
        """End a job with its result. With a `summary`, add it to its conversation."""

        def entry(record: JobRecord) -> ConversationEntry:
            return ConversationEntry(record.id, record.spec.task, summary or "", record.workspace)

        succeed = partial(lifecycle.succeed, result=result)
        return await self._commits.change_leased(lease, succeed, None if summary is None else entry)

    async def fail(
        self, lease: LeaseRef, reason: Reason, detail: str, result: Result | None = None
    ) -> JobRecord | Refusal:
        """End a job without success."""
        fail = partial(lifecycle.fail, reason=reason, detail=detail, result=result)
        return await self._commits.change_leased(lease, fail)

    async def retry(
        self,
        lease: LeaseRef,
        reason: Reason,
        wait: Wait,
        min_delay_seconds: float = 0.0,
        result: Result | None = None,
        *,
        counted: bool = True,
        most_retries: int | None = None,
    ) -> JobRecord | Refusal:
        """Retry the job later after infrastructure trouble, or fail it after enough tries, with the
        `result` so far. See `lifecycle.retry`."""
        retry = partial(
            lifecycle.retry,
            reason=reason,
            wait=wait,
            policy=self.policy,
            min_delay_ms=int(min_delay_seconds * 1000),
            result=result,
            counted=counted,
            most_retries=most_retries,
        )
        return await self._commits.change_leased(lease, retry)

    async def requeue(self, lease: LeaseRef, detail: str, cause: Cause) -> JobRecord | Refusal:
        """Return the job to the queue with its checkpoint, because the worker drains or cannot
        continue. This does not count as a try. The submitter can read `detail`."""
        requeue = partial(lifecycle.requeue, cause=cause, detail=detail)
        return await self._commits.change_leased(lease, requeue)

    async def rest(self, lease: LeaseRef, wait: Wait, seconds: float) -> JobRecord | Refusal:
        """Release a benchmark until its next look at its exercises."""
        rest = partial(lifecycle.rest, wait=wait, delay_ms=int(seconds * 1000))
        return await self._commits.change_leased(lease, rest)

    async def sweep(self, concurrency: int = 32) -> int:
        """Visit all jobs that are due: send hints, take back expired leases (J8), expire reviews.

        Returns the number of changed jobs. `concurrency` jobs are visited at the same time. A job
        that fails does not stop the others: its error is raised after them.
        """
        return await sweep(self._commits, concurrency)

    async def _create(
        self,
        change: Change,
        idempotency: Idempotency | None,
        blobs: Sequence[str] = (),
        parent: JobRecord | None = None,
        lease: LeaseRef | None = None,
    ) -> Submission | Refusal:
        """Put a new job on record. The job refers to the bytes of `blobs` and of its `parent`."""
        existing = await self.store.create(change, idempotency, blobs, parent, lease)
        if existing is None:
            await self._hint_new(change.after)
            return Submission(change.after, is_new=True)
        return await self._submission_of(existing, idempotency)

    async def _hint_new(self, record: JobRecord) -> None:
        """Hint at a new job, unless it waits for another of its conversation."""
        if record.conversation_id != record.id:
            # the job is on record even if Redis no longer answers; the sweeper also sends hints
            with contextlib.suppress(StoreUnavailable):
                head = await self.store.next_in_line(record.tenant, record.conversation_id)
                if head != record.id:
                    return
        self._hint(record)

    async def _submission_of(
        self, existing: Existing, idempotency: Idempotency | None
    ) -> Submission | Refusal:
        if idempotency is None or existing.body_digest != idempotency.body_digest:
            return Refusal("key_reused", "another request has used this Idempotency-Key")
        loaded = await self.store.load(existing.job_id)
        if loaded is None:
            problem = "the job with this Idempotency-Key was removed because of its age"
            return Refusal("key_reused", f"{problem}: send a new key")
        return Submission(loaded.record, is_new=False)
