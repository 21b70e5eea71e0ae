"""Attempt: one worker's leased try at a job, until the job pauses, ends or is released.

This is one of the two outer boundaries of the service (the other is a request): here every
exception becomes a change of the record, or the lease expires.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from jobs.errors import BlobMissing, BlobsUnavailable, Contended, StaleEpoch, StoreUnavailable
from jobs.model.record import Cause, JobRecord, Reason
from jobs.transitions.lifecycle import Refusal
from worker.failures import (
    AskUpgrade,
    Drop,
    Fail,
    Requeue,
    Retry,
    WaitForStore,
    abort_process,
    classify_failure,
    is_exhausted,
    store_failure,
)
from worker.graph_runner import GraphRunner
from worker.resumption import damage_question, upgrade_question

RELEASE_SECONDS = 1.0
"""The pause between two tries to release a job while Redis does not answer."""
SETTLE_SECONDS = 2.0
"""The time in which a call that was cut off by a drain may record its reply."""

log = structlog.get_logger("worker.attempt")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at the job of the runner."""

    runner: GraphRunner

    async def run(self) -> None:
        """Work until the job pauses, ends or is lost, or the worker drains.

        A drain cancels the task of `run` once, and `run` then returns the job to the queue. Raises
        only CancelledError: if the task is cancelled for another reason, or a second time.
        """
        record = self.runner.record
        logger = log.bind(job_id=record.id, attempt=record.attempts, request_id=record.request_id)
        logger.info("attempt started")
        try:
            outcome = await self._release_on_outage(self._run)
        except StaleEpoch as error:
            outcome = Refusal("left", str(error))
        except Exception as error:
            if is_exhausted(error):
                abort_process(error)
            logger.error("attempt could not be ended", exc_info=error)
            outcome = Refusal("left", f"{type(error).__name__}: {error}")
        if isinstance(outcome, Refusal):
            logger.warning("attempt dropped", why=outcome.detail)
        else:
            logger.info("attempt ended", status=str(outcome.status), reason=outcome.reason)

    async def _release_on_outage(
        self, work: Callable[[], Awaitable[JobRecord | Refusal]]
    ) -> JobRecord | Refusal:
        """The result of `work`. If Redis does not answer, release the job as soon as Redis answers.

        The release does not count as a try. If the lease expired instead, that would count as a
        crash, and after two crashes the job runs alone (J7).
        """
        try:
            return await work()
        except (StoreUnavailable, Contended) as error:
            return await self._release_later(error)

    async def _release_later(self, error: Exception) -> JobRecord | Refusal:
        log.warning("attempt waits for Redis", job_id=self.runner.record.id, error=str(error))
        while True:
            await asyncio.sleep(RELEASE_SECONDS)
            with contextlib.suppress(StoreUnavailable, Contended):
                await self.runner.flush_unsent()
                return await self._requeue(store_failure(error), Cause.REDIS, error)

    async def _run(self) -> JobRecord | Refusal:
        """Work on the job. If the task is cancelled because the worker drains, return the job to
        the queue, also while the attempt waits for Redis."""
        try:
            return await self._release_on_outage(self._work)
        except asyncio.CancelledError:
            if not self.runner.control.drain_requested:
                with contextlib.suppress(StoreUnavailable, Contended):
                    await self.runner.flush_unsent()
                raise
            await self.runner.flush_unsent(SETTLE_SECONDS)  # records a call that is about to finish
            return await self._requeue("stopped in the middle of a call", Cause.STOPPING)

    async def _work(self) -> JobRecord | Refusal:
        try:
            return await self._run_within_deadline()
        except (BlobsUnavailable, BlobMissing) as error:  # while `_handle` recorded a failure
            return await self._handle(error)

    async def _run_within_deadline(self) -> JobRecord | Refusal:
        """Run the graph within the job's time. Every failure becomes a change of the record."""
        record = self.runner.record
        if (review := upgrade_question(record)) is not None:
            return await self.runner.ask(review)
        spec = record.spec
        remaining_seconds = max(spec.running_seconds - record.ran_ms / 1000, 0.0)
        try:
            async with asyncio.timeout(remaining_seconds) as deadline:
                return await self.runner.run()
        except Exception as error:  # noqa: BLE001 - the outer boundary of an attempt
            if deadline.expired():
                unanswered = (
                    f"{model} had not answered for {seconds:.0f} s"
                    for model, seconds in self.runner.unanswered.items()
                )
                limit = f"the job ran for {spec.running_seconds} s, its timeout_seconds"
                advice = "a retry with a longer timeout_seconds continues it"
                detail = "; ".join((limit, *unanswered, advice))
                return await self.runner.fail(Reason.DEADLINE, detail)
            return await self._handle(error)

    async def _handle(self, error: Exception) -> JobRecord | Refusal:
        if is_exhausted(error):
            abort_process(error)
        runner = self.runner
        match classify_failure(error):
            case Requeue():
                return await self._requeue("the worker is stopping", Cause.STOPPING)
            case Drop(reason):
                return Refusal("dropped", reason)
            case WaitForStore():
                raise error
            case AskUpgrade(location):
                log.error("stored state unreadable", job_id=runner.record.id, place=location)
                return await runner.ask(damage_question(runner.record, location))
            case Retry() as retry:
                return await self._retry(retry, error)
            case Fail(reason, detail, unforeseen):
                if unforeseen:
                    log.error("attempt failed", job_id=runner.record.id, exc_info=error)
                return await runner.fail(reason, detail)

    async def _retry(self, retry: Retry, error: Exception) -> JobRecord | Refusal:
        """Release the job until its next try. If the sandbox or the storage failed, try that part
        again first: if it is broken for every job, this try does not count, and the worker takes no
        job until the part works.
        """
        runner, readiness = self.runner, self.runner.context.readiness
        counted = True
        if retry.reason is Reason.SANDBOX_UNAVAILABLE and not await readiness.sandbox.try_now():
            detail = f"no code can be run on this worker: {retry.wait.why}"
            return await self._requeue(detail, Cause.SANDBOX, error)
        if retry.reason is Reason.STORAGE:
            counted = await readiness.storage.try_now()
        released = await runner.context.patience.retry(
            lambda: runner.operations.retry(
                runner.writer.lease,
                retry.reason,
                retry.wait,
                retry.requested_seconds,
                retry.result,
                counted=counted,
                most_retries=retry.most_retries,
            )
        )
        if isinstance(released, JobRecord):
            self._log_release(released, retry.reason.cause, error)
        return released

    async def _requeue(
        self, detail: str, cause: Cause, error: Exception | None = None
    ) -> JobRecord | Refusal:
        """Return the job to the queue. Raises StoreUnavailable: `_release_on_outage` then repeats
        the call until Redis answers."""
        released = await self.runner.operations.requeue(self.runner.writer.lease, detail, cause)
        if isinstance(released, JobRecord):
            self._log_release(released, cause, error or detail)
        return released

    def _log_release(self, record: JobRecord, cause: Cause, error: Exception | str) -> None:
        """Log the cause with the full error; tenants see a shorter text."""
        level = log.info if cause is Cause.STOPPING else log.warning
        level(
            "tries used up" if record.status.final else "attempt given back",
            job_id=record.id,
            attempt=record.attempts,
            cause=str(cause),
            error=error if isinstance(error, str) else f"{type(error).__name__}: {error}",
            tries=record.retries,
            rest_seconds=max(record.due_at - record.updated_at, 0) / 1000,
        )
