"""JobEnding: ends one job with its result, its stored change and its delivery."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from agents.errors import StateUnreadable
from agents.graph.outcome import Outcome
from agents.ports import CallKey, Event, Workspace
from jobs.blobs.manifest import load
from jobs.errors import BlobMissing, BlobsUnavailable
from jobs.model.record import JobRecord, Push, Reason, Result
from jobs.service import Operations
from jobs.transitions.lifecycle import Refusal
from worker.adapters.repository import StoredChange, commit_base
from worker.context import WorkerContext
from worker.delivery.push import ChangePush, load_or_record_change
from worker.ledger import AttemptWriter, Ledger, RecordCheck
from worker.ports import PortsBuilder
from worker.repositories.errors import DeliveryRefused, DeliveryUnavailable, RepositoryRefused
from worker.results import best_result, failure_reason, result_of

_DELIVERY = CallKey("", "delivery", 0)


@dataclass(frozen=True, slots=True)
class JobEnding:
    """Ends the job of one attempt. All methods raise StoreUnavailable and StaleEpoch."""

    record: JobRecord
    """The job as the attempt claimed it."""
    operations: Operations
    context: WorkerContext
    writer: AttemptWriter

    async def finish(
        self, builder: PortsBuilder, outcome: Outcome, workspace: Workspace
    ) -> JobRecord | Refusal:
        """End the job with the outcome of its graph. An approved change is delivered first.

        Raises DeliveryUnavailable with the result so far if the host fails: the graph has ended, so
        a later attempt calls no model again.
        """
        change = await builder.store_change(workspace, outcome.summary or outcome.answer)
        await self.writer.send()
        result = _with_change(result_of(outcome), change)
        if (reason := failure_reason(self.record.spec, outcome)) is not None:
            return await self.fail(Reason.UNAPPROVED, reason, result)
        try:
            delivery = await self._deliver(builder, outcome, change, workspace)
        except DeliveryUnavailable as error:
            error.result = replace(result, delivery=error.done)
            raise
        except DeliveryRefused as error:
            result = replace(result, delivery=error.done)
            return await self.fail(Reason.DELIVERY, str(error), result)
        await self.context.write_recording(self.record)
        return await self.succeed(replace(result, delivery=delivery), outcome.summary)

    async def succeed(self, result: Result, summary: str | None = None) -> JobRecord | Refusal:
        """Record the success. Follow-up jobs of the conversation read `summary`."""
        return await self.context.patience.retry(
            lambda: self.operations.succeed(self.writer.lease, result, summary)
        )

    async def fail(self, reason: Reason, detail: str, result: Result | None) -> JobRecord | Refusal:
        """Record the failure, after all calls that were paid for."""
        await self.context.patience.retry(self.writer.flush_unsent)
        await self.context.write_recording(self.record)
        return await self.context.patience.retry(
            lambda: self.operations.fail(self.writer.lease, reason, detail, result)
        )

    async def best_result(self, record: JobRecord, state: Mapping[str, Any]) -> Result | None:
        """The result of a job that fails, from the `state` of its graph, its events and its files;
        None if it has no answer and no file. `record` is the job's present record."""
        store, blobs = self.operations.store, self.context.files.blobs
        events = await self.context.patience.retry(lambda: store.events(record.id))
        paths = None  # parallel branches have files of their own
        if not record.spec.parallel:
            with contextlib.suppress(BlobMissing):
                paths = (
                    await self.context.patience.retry(lambda: load(blobs, record.workspace))
                ).files
        result = best_result(state, events, paths)
        return None if result is None else _with_change(result, await self._last_change(record))

    async def _last_change(self, record: JobRecord) -> StoredChange | None:
        """The change of a job that fails; None if the change is empty or cannot be read."""
        if record.workspace in (None, record.spec.workspace):
            return None  # the job has changed no file
        store = self.operations.store
        journal = await self.context.patience.retry(lambda: store.journal(record.id))
        builder = PortsBuilder(self.context, record, Ledger(self.writer, journal))
        with contextlib.suppress(
            RepositoryRefused, BlobsUnavailable, BlobMissing, StateUnreadable, OSError
        ):
            change = await builder.store_change(await builder.workspace(), "")
            await self.writer.send()
            return change
        return None

    async def _deliver(
        self,
        builder: PortsBuilder,
        outcome: Outcome,
        change: StoredChange | None,
        workspace: Workspace,
    ) -> Push | None:
        """Push the change, and open its pull request; None if the job wants no delivery."""
        files = self.context.files
        target = files.deliveries.target(self.record.spec, self.record.tenant)
        if target is None:
            return None
        reason = files.deliveries.reason_against(self.record.id, outcome.approved_by)
        if reason is not None:
            return Push(note=f"nothing was delivered: {reason}")
        if change is None:
            return Push(note="nothing was delivered: the job has changed nothing")
        approved = await load_or_record_change(
            builder.record, builder.ledger, builder.blobs, change
        )
        push = ChangePush(
            builder.record,
            target,
            files.repositories.settings,
            commit_base(workspace),
            RecordCheck(self.context.store, self.writer).check,
        )
        delivery = await push.deliver(approved, outcome.summary or outcome.answer)
        await builder.ledger.emit(Event(_DELIVERY, "delivered", asdict(delivery)))
        await self.writer.send()
        return delivery


def _with_change(result: Result, change: StoredChange | None) -> Result:
    return replace(result, patch=change.patch, bundle=change.bundle) if change else result
