"""GraphRunner: the graph of one job, from its checkpoint to its next pause or its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import structlog
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import RunControl
from langgraph.types import Command, Interrupt, StateSnapshot

from agents.attempt import Ports
from agents.checks.check_reports import report_data, report_summary
from agents.checks.judge import judge
from agents.errors import StateUnreadable
from agents.graph.job_input import JobInput, initial_state
from agents.graph.outcome import Outcome, outcome
from agents.paths import own_files
from agents.ports import CallKey, Earlier, Event, Workspace
from agents.ports.checks import Checks
from agents.ports.repository import Rebased
from agents.runs.start_files import StartFiles, start_files
from agents.runs.symbol_map import symbol_map
from jobs.blobs.manifest import load
from jobs.errors import BlobMissing, BlobsUnavailable
from jobs.model.credentials import is_person
from jobs.model.record import ANEW, Delivery, JobRecord, Reason, Result, Wait
from jobs.model.review import Review, ReviewKind
from jobs.model.spec import JobSpec, Kind
from jobs.service import Operations
from jobs.store import ConversationEntry, LeaseRef
from jobs.transitions.lifecycle import Refusal
from jobs.view.comments import marked
from worker.adapters.cancel import StoreCancel
from worker.adapters.repository import Delivered, delivered, repository
from worker.context import WorkerContext
from worker.delivery.deliver import Delivering
from worker.delivery.errors import DeliveryRefused, DeliveryUnavailable
from worker.delivery.hosts import NEEDS_REVIEW, Target
from worker.delivery.intent import intended
from worker.ledger import CURRENT, Ledger
from worker.outcome import best, result_of, why_unapproved
from worker.repositories.errors import RepositoryRefused
from worker.resumption import (
    Asked,
    Begin,
    Ended,
    GoOn,
    foreseen,
    ours,
    reopening,
    resumption,
)
from worker.store import retry_while_unavailable

TURNS_SEEN = 3
log = structlog.get_logger("worker.graph_runner")
_VERIFICATION = CallKey("", "verification", 0)
_DELIVERY = CallKey("", "delivery", 0)


@dataclass(frozen=True, slots=True)
class GraphRunner:
    """`record` is the job as it was claimed. What goes wrong is raised: see `worker.outcome`."""

    record: JobRecord
    operations: Operations
    context: WorkerContext
    control: RunControl
    unanswered: dict[str, float] = field(default_factory=dict)
    """The model calls that were cut off without a reply: seconds by model."""

    @property
    def held(self) -> LeaseRef:
        """The lease of this attempt, as far as is known here."""
        return LeaseRef(self.record.id, self.record.epoch)

    async def run(self) -> JobRecord | Refusal:
        """The job as it was left: paused, or ended."""
        ledger = await retry_while_unavailable(lambda: self.context.ledger(self.record))
        CURRENT.set(ledger)
        if self.record.spec.kind is Kind.VERIFICATION:
            return await self._verify(ledger)
        where = await self._where(ledger)
        self._target()  # fails before the job costs anything
        match where:
            case Begin():
                return await self._begin(ledger)
            case GoOn(feed):
                return await self._through(ledger, feed)
            case Asked(interrupt):
                workspace = await self.context.workspace(self.record, ledger)
                return await self._pause(ledger, interrupt, workspace)
            case Ended(state):
                workspace = await self.context.workspace(self.record, ledger)
                return await self._finish(ledger, outcome(state), workspace)

    async def _verify(self, ledger: Ledger) -> JobRecord | Refusal:
        """Judge the job's checks: it succeeds whether they pass or not."""
        ports = await self._ports(self.record, ledger)
        checked = await _verified(ports)
        await ledger.flush()
        result = Result(f"{report_summary(checked)}.", approved_by=None, checks=checked)
        return await retry_while_unavailable(lambda: self.operations.succeed(self.held, result))

    async def _begin(self, ledger: Ledger) -> JobRecord | Refusal:
        """From the start: the conversation's last workspace with this job's files over it."""
        record = self.record
        store = self.operations.store
        if record.graph == ANEW:
            await self.context.saver.adelete_thread(record.id)
        record, rebased = await self.context.begun(record, ledger)
        entries = await retry_while_unavailable(
            lambda: store.conversation(record.tenant, record.conversation_id, TURNS_SEEN)
        )
        earlier = entries[0].workspace if entries else None
        ports = await self._ports(record, ledger, earlier)
        files = await start_files(ports)
        found = await symbol_map(ports, record.spec.task)
        feed = initial_state(_input(record.spec, entries, ports, files, found, rebased))
        return await self._through(ledger, feed, ports)

    async def _through(
        self,
        ledger: Ledger,
        feed: Command[Any] | Mapping[str, Any] | None,
        ports: Ports | None = None,
    ) -> JobRecord | Refusal:
        """Run the graph to its next pause or its end."""
        ports = ports or await self._ports(self.record, ledger)
        self._name_format(ledger)
        state = await self.context.graph.ainvoke(
            feed, self._config(), context=ports, durability="sync", control=self.control
        )
        if interrupts := state.get("__interrupt__"):
            return await self._pause(ledger, interrupts[0], ports.workspace)
        return await self._finish(ledger, outcome(state), ports.workspace)

    async def _ports(self, record: JobRecord, ledger: Ledger, earlier: str | None = None) -> Ports:
        return await self.context.ports(record, ledger, earlier, unanswered=self.unanswered)

    def _name_format(self, ledger: Ledger) -> None:
        if self.record.graph != ours():
            ledger.write_in(ours())

    async def _where(self, ledger: Ledger) -> Begin | GoOn | Asked | Ended:
        if (known := foreseen(self.record)) is not None:
            return known
        snapshot = await self._snapshot()
        if self.record.inherits is not None and not snapshot.values:
            # where the parent has none, or was removed meanwhile, the job begins from its start
            await self.context.saver.acopy_thread(self.record.inherits, self.record.id)
            snapshot = await self._snapshot()
        if (other := reopening(self.record, snapshot)) is None:
            return resumption(self.record, snapshot)
        self._name_format(ledger)
        graph = self.context.graph
        await graph.aupdate_state(self._config(), other.change, as_node=other.after)
        return GoOn(None)

    async def _pause(
        self, ledger: Ledger, interrupt: Interrupt, workspace: Workspace
    ) -> JobRecord | Refusal:
        asks, payload = ReviewKind.QUESTIONS, interrupt.value
        if "questions" not in payload:
            asks = ReviewKind.REVIEW
            change = await self._change(ledger, workspace, payload["answer"])
            payload = {**payload, "decisions": await self._marked(payload["decisions"], change)}
            if change is not None:
                payload |= {"patch": asdict(change.patch), "bundle": change.bundle}
        await ledger.flush()
        await self.context.write_down(self.record)
        return await self.ask(Review(interrupt.id, asks, payload))

    async def _marked(
        self, decisions: list[dict[str, Any]], change: Delivered | None
    ) -> list[dict[str, Any]]:
        """The decisions, whose comments say whether their lines are still as they were."""
        if not any(each.get("comments") for each in decisions):
            return decisions
        patch = await self.context.blobs.get(change.patch.digest) if change else None
        return await asyncio.to_thread(marked, decisions, patch)

    async def _change(self, ledger: Ledger, workspace: Workspace, answer: str) -> Delivered | None:
        blobs, author = self.context.pinned(ledger), self.context.author
        return await delivered(self.record, workspace, blobs, answer, author)

    async def ask(self, review: Review) -> JobRecord | Refusal:
        """Let the job wait for a person's answer."""
        return await retry_while_unavailable(lambda: self.operations.pause(self.held, review))

    async def _finish(
        self, ledger: Ledger, ended: Outcome, workspace: Workspace
    ) -> JobRecord | Refusal:
        change = await self._change(ledger, workspace, ended.summary or ended.answer)
        await ledger.flush()
        result = _with(result_of(ended), change)
        if (why := why_unapproved(self.record.spec, ended)) is not None:
            return await self._failed(Reason.UNAPPROVED, why, result)
        try:
            delivery = await self._delivery(ledger, ended, change, workspace)
        except DeliveryUnavailable as error:
            return await self._tried_again(error, result)
        except DeliveryRefused as error:
            result = replace(result, delivery=error.done)
            return await self._failed(Reason.DELIVERY, str(error), result)
        result = replace(result, delivery=delivery)
        await self.context.write_down(self.record)
        summary = " ".join(filter(None, (ended.summary, ended.people_said)))
        return await retry_while_unavailable(
            lambda: self.operations.succeed(self.held, result, summary)
        )

    def _target(self) -> Target | None:
        return self.context.deliveries.target(self.record.spec, self.record.tenant)

    async def _delivery(
        self, ledger: Ledger, ended: Outcome, change: Delivered | None, workspace: Workspace
    ) -> Delivery | None:
        """What was delivered of the result; None where the job wants nothing delivered."""
        target = self._target()
        if target is None:
            return None
        if not ended.approved:
            return Delivery(note="nothing was delivered: nobody has approved the change")
        if self.context.deliveries.needs_review and not is_person(ended.approved_by):
            note = f"nothing was delivered: {ended.approved_by} has approved it, and {NEEDS_REVIEW}"
            return Delivery(note=f"{note}; `fettle apply {self.record.id}` applies the change")
        if change is None:
            return Delivery(note="nothing was delivered: the job has changed nothing")
        blobs, cancel = self.context.pinned(ledger), StoreCancel(self.context.store, ledger)
        intent = await intended(self.record, ledger, blobs, change)
        attempt = Delivering(
            self.record,
            target,
            self.context.repositories.settings,
            repository(workspace),
            cancel.check,
        )
        done = await attempt.deliver(intent, ended.summary or ended.answer)
        await ledger.emit(Event(_DELIVERY, "delivered", asdict(done)))
        await ledger.flush()
        return done

    async def _tried_again(self, error: DeliveryUnavailable, result: Result) -> JobRecord | Refusal:
        """Later, without another call of a model: the graph has ended."""
        log.warning(
            "attempt given back",
            job_id=self.record.id,
            attempt=self.record.attempts,
            cause=str(Reason.DELIVERY.cause),
            error=str(error),
        )
        wait, best = Wait("the repository", str(error)), replace(result, delivery=error.done)
        asked = error.asked_seconds
        return await retry_while_unavailable(
            lambda: self.operations.retry(self.held, Reason.DELIVERY, wait, asked, best)
        )

    async def fail(self, reason: Reason, detail: str) -> JobRecord | Refusal:
        """Fail with the best result that the checkpoints hold."""
        return await self._failed(reason, detail, await self._best())

    async def _best(self) -> Result | None:
        loaded = await retry_while_unavailable(lambda: self.operations.store.load(self.record.id))
        record = loaded.record if loaded else self.record
        if self.record.graph == ANEW and record.graph == ANEW:  # they are still those of before
            return None
        try:
            snapshot = await self._snapshot()
        except StateUnreadable:
            return None
        events = await retry_while_unavailable(lambda: self.operations.store.events(self.record.id))
        files = None  # branches have files of their own
        if not record.spec.parallel:
            blobs = self.context.blobs
            with contextlib.suppress(BlobMissing):
                files = (await retry_while_unavailable(lambda: load(blobs, record.workspace))).files
        result = best(snapshot.values, events, files)
        return None if result is None else _with(result, await self._last_change(record))

    async def _last_change(self, record: JobRecord) -> Delivered | None:
        """The change of a job that fails; None if the change is empty or cannot be read."""
        ledger = CURRENT.get(None)
        if ledger is None or record.workspace in (None, record.spec.workspace):
            return None  # it has changed nothing
        with contextlib.suppress(RepositoryRefused, BlobsUnavailable, BlobMissing, OSError):
            change = await self._change(ledger, await self.context.workspace(record, ledger), "")
            await ledger.flush()
            return change
        return None

    async def _failed(
        self, reason: Reason, detail: str, result: Result | None
    ) -> JobRecord | Refusal:
        await retry_while_unavailable(flush_unsent)
        await self.context.write_down(self.record)
        return await retry_while_unavailable(
            lambda: self.operations.fail(self.held, reason, detail, result)
        )

    async def _snapshot(self) -> StateSnapshot:
        read: Callable[[], Awaitable[StateSnapshot]]
        read = partial(self.context.graph.aget_state, self._config())
        return await retry_while_unavailable(read)

    def _config(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.record.id}}


def _with(result: Result, change: Delivered | None) -> Result:
    return replace(result, patch=change.patch, bundle=change.bundle) if change else result


async def flush_unsent(settle_seconds: float = 0.0) -> None:
    """Put on record what the attempt has paid for and not written yet; a call that is about to
    finish has so long to do so. Raises what the ledger raises."""
    if ledger := CURRENT.get(None):
        await ledger.settled(settle_seconds)
        await ledger.flush_unsent()


def _input(
    spec: JobSpec,
    entries: Sequence[ConversationEntry],
    ports: Ports,
    files: StartFiles,
    repository_map: str,
    rebased: Rebased | None,
) -> JobInput:
    return JobInput(
        task=spec.task,
        steps=spec.steps,
        max_revisions=spec.max_revisions if spec.repair else 1,
        on_exhausted=spec.on_exhausted.value,
        earlier=tuple(Earlier(entry.task, entry.summary) for entry in reversed(entries)),
        files=tuple(own_files(ports.workspace)),
        inputs=files.listing,
        contents=files.texts,
        repository_map=repository_map,
        rebased=rebased,
        start=None if rebased else ports.workspace.digest,
        checks=spec.checks is not None,
        write_tests=spec.write_tests,
        questions=spec.questions,
        parallel=spec.parallel,
        verify=spec.verify,
        evidence=spec.evidence.value,
    )


async def _verified(ports: Ports) -> dict[str, Any]:
    """The report of a job that is a verification: no graph, no model.

    Its one run has no effects, so it can be repeated after a crash. Raises what the sandbox raises.
    """
    await ports.cancel.check()
    tree, checks = await ports.workspace.tree(), ports.checks or Checks()
    report = await judge(ports.sandbox, tree.files, checks, ports.limits, tree.links)
    checked = await report_data(report, ports)
    await ports.events.emit(Event(_VERIFICATION, "checked", {"revision": None, **checked}))
    return checked
