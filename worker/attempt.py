"""Attempt: one worker's leased try at a job, until the job pauses, ends or is released.

This is one of the two outer boundaries of the service (the other is a request): every exception
becomes a change of the record here, or is left to the lease.
"""

from __future__ import annotations

import asyncio
import contextlib
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
    exhausted,
    store_trouble,
)
from worker.graph_runner import GraphRunner
from worker.resumption import damaged, question
from worker.store import retry_while_unavailable

HAND_BACK_SECONDS = 1.0
SETTLE_SECONDS = 2.0

log = structlog.get_logger("worker.attempt")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at the job that is driven."""

    drive: GraphRunner

    async def run(self) -> None:
        """Work until the job pauses, ends, drains or is lost. Raises only cancellation, and no
        cancellation if the worker drains: then the job returns to the queue.
        """
        record = self.drive.record
        logger = log.bind(job_id=record.id, attempt=record.attempts, request_id=record.request_id)
        logger.info("attempt started")
        try:
            ended = await self._to_the_end()
        except StaleEpoch as error:
            ended = Refusal("left", str(error))
        except (StoreUnavailable, Contended) as error:
            ended = await self._hand_back(error)
        except Exception as error:
            if exhausted(error):
                abort_process(error)
            logger.error("attempt could not be ended", exc_info=error)
            ended = Refusal("left", f"{type(error).__name__}: {error}")
        if isinstance(ended, Refusal):
            logger.warning("attempt dropped", why=ended.detail)
        else:
            logger.info("attempt ended", status=str(ended.status), reason=ended.reason)

    async def _hand_back(self, error: Exception) -> JobRecord | Refusal:
        """Release the job as soon as Redis answers again, which does not count as a try. If its
        lease expired instead, that would count as a crash, and after two of them the job runs alone
        (J7).
        """
        log.warning("attempt waits for Redis", job_id=self.drive.record.id, error=str(error))
        while True:
            await asyncio.sleep(HAND_BACK_SECONDS)
            with contextlib.suppress(StoreUnavailable, Contended):
                await self.drive.flush_unsent()
                return await self._give_back(store_trouble(error), Cause.REDIS, error)

    async def _to_the_end(self) -> JobRecord | Refusal:
        try:
            try:
                return await self._guarded()
            except (BlobsUnavailable, BlobMissing) as error:  # as its end was put on record
                return await self._fate(error)
        except asyncio.CancelledError:
            if not self.drive.control.drain_requested:
                with contextlib.suppress(StoreUnavailable, Contended):
                    await self.drive.flush_unsent()
                raise
            await self.drive.flush_unsent(SETTLE_SECONDS)  # a call that has finished counts
            return await self._give_back("stopped in the middle of a call", Cause.STOPPING)

    async def _guarded(self) -> JobRecord | Refusal:
        """Run the graph; every failure becomes a change of the record."""
        record = self.drive.record
        if (review := question(record)) is not None:
            return await self.drive.ask(review)
        spec = record.spec
        left = max(spec.timeout_seconds - record.ran_ms / 1000, 0.0)
        try:
            async with asyncio.timeout(left) as deadline:
                return await self.drive.run()
        except Exception as error:  # noqa: BLE001 - the outer boundary of an attempt
            if deadline.expired():
                said = f"the job ran for {spec.timeout_seconds} s, its timeout_seconds"
                asked = self.drive.unanswered.items()
                open_calls = (f"{name} had not answered for {spent:.0f} s" for name, spent in asked)
                advice = "a retry with a longer one continues it"
                said = "; ".join((said, *open_calls, advice))
                return await self.drive.fail(Reason.DEADLINE, said)
            return await self._fate(error)

    async def _fate(self, error: Exception) -> JobRecord | Refusal:
        if exhausted(error):
            abort_process(error)
        drive = self.drive
        match classify_failure(error):
            case Requeue():
                return await self._give_back("the worker is stopping", Cause.STOPPING)
            case Drop(why):
                return Refusal("dropped", why)
            case WaitForStore():
                return await self._hand_back(error)
            case AskUpgrade(place):
                log.error("stored state unreadable", job_id=drive.record.id, place=place)
                return await drive.ask(damaged(drive.record, place))
            case Retry() as retry:
                return await self._release(retry, error)
            case Fail(reason, detail, unforeseen):
                if unforeseen:
                    log.error("attempt failed", job_id=drive.record.id, exc_info=error)
                return await drive.fail(reason, detail)

    async def _release(self, retry: Retry, error: Exception) -> JobRecord | Refusal:
        """Release the job for a while. The worker checks its sandbox and its storage again: if they
        fail for all jobs, this job loses no try, and the worker takes no other job.
        """
        drive, readiness = self.drive, self.drive.context.readiness
        counted = True
        if retry.reason is Reason.SANDBOX_UNAVAILABLE and not await readiness.sandbox.look():
            detail = f"no code can be run on this worker: {retry.wait.why}"
            return await self._give_back(detail, Cause.SANDBOX, error)
        if retry.reason is Reason.STORAGE:
            counted = await readiness.storage.look()
        released = await retry_while_unavailable(
            lambda: drive.operations.retry(
                drive.writer.lease,
                retry.reason,
                retry.wait,
                retry.asked_seconds,
                counted=counted,
                most_retries=retry.most_retries,
            )
        )
        if isinstance(released, JobRecord):
            self._log_release(released, retry.reason.cause, error)
        return released

    async def _give_back(
        self, detail: str, cause: Cause, error: Exception | None = None
    ) -> JobRecord | Refusal:
        released = await self.drive.operations.requeue(self.drive.writer.lease, detail, cause)
        if isinstance(released, JobRecord):
            self._log_release(released, cause, error or detail)
        return released

    def _log_release(self, record: JobRecord, cause: Cause, error: Exception | str) -> None:
        """Name the cause with everything that the error says: a tenant is shown less of it."""
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
