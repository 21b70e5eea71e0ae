"""GraphRunner: the graph of one job, from its checkpoint to its next pause or its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import RunControl
from langgraph.types import Command, Interrupt, StateSnapshot

from agents.attempt import Ports
from agents.checks.judge import judge_work
from agents.checks.reports import report_data, report_summary
from agents.errors import StateUnreadable
from agents.graph.build import Graph
from agents.graph.job_input import initial_state, job_fields
from agents.graph.outcome import read_outcome
from agents.paths import own_files
from agents.ports import CallKey, Event, Workspace
from agents.ports.checks import Checks
from agents.ports.repository import Rebased
from agents.runs.start_files import StartFiles, start_files
from agents.runs.symbols import symbol_map
from agents.state import EarlierJob, JobFields, State
from jobs.model.record import RESTART, JobRecord, Reason, Result
from jobs.model.review import Review, ReviewKind
from jobs.model.spec import CODEOWNERS, JobKind, JobSpec
from jobs.service import Operations
from jobs.store import ENTRIES_KEPT
from jobs.transitions.lifecycle import Refusal
from jobs.view.comments import mark_outdated
from jobs.view.patch import parse_patch
from worker.adapters.repository import StoredChange, owners_of_change
from worker.benchmark import BenchmarkRunner
from worker.checkpoints import RedisSaver
from worker.context import WorkerContext
from worker.earlier_jobs import load_earlier_jobs
from worker.job_ending import JobEnding
from worker.ledger import AttemptWriter
from worker.ports import PortsBuilder
from worker.resumption import (
    Begin,
    Continue,
    UnrecordedEnd,
    UnrecordedPause,
    current_format,
    reopening,
    start_by_checkpoint,
    start_by_record,
)

_VERIFICATION = CallKey("", "verification", 0)


@dataclass(frozen=True, slots=True)
class GraphRunner:
    """Runs the graph of one attempt. Exceptions pass through: see `worker.failures`."""

    record: JobRecord
    """The job as this attempt claimed it."""
    operations: Operations
    context: WorkerContext
    control: RunControl
    writer: AttemptWriter
    unanswered: dict[str, float] = field(default_factory=dict)
    """The model calls that were cut off without a reply: seconds by model."""

    async def run(self) -> JobRecord | Refusal:
        """Run the graph; returns the job, which is paused or has ended then."""
        context = self.context
        ledger = await context.patience.retry(lambda: context.ledger(self.record, self.writer))
        builder = PortsBuilder(context, self.record, ledger, self.unanswered)
        if self.record.spec.kind is JobKind.VERIFICATION:
            return await self._verify(builder)
        if self.record.spec.kind is JobKind.BENCHMARK:
            runner = BenchmarkRunner(
                self.record, self.operations, self.writer, builder.blobs, self._ending
            )
            return await runner.run()
        start = await self._find_start()
        # raises before the job costs anything
        context.files.deliveries.check_target(self.record.spec, self.record.tenant)
        match start:
            case Begin():
                return await self._begin(builder)
            case Continue(graph_input):
                return await self._run_graph(builder, graph_input)
            case UnrecordedPause(interrupt):
                return await self._pause(builder, interrupt, await builder.workspace())
            case UnrecordedEnd(state):
                workspace = await builder.workspace()
                return await self._ending.finish(builder, read_outcome(state), workspace)

    async def ask(self, review: Review) -> JobRecord | Refusal:
        """Let the job wait for a person's answer."""
        return await self.context.patience.retry(
            lambda: self.operations.pause(self.writer.lease, review)
        )

    async def fail(self, reason: Reason, detail: str) -> JobRecord | Refusal:
        """Fail the job, with the best result that its checkpoints and events have."""
        return await self._ending.fail(reason, detail, await self._best_result())

    async def flush_unsent(self, settle_seconds: float = 0.0) -> None:
        """Record the calls that the attempt has paid for and not recorded. A call that is about to
        finish has `settle_seconds` to do so. Raises StoreUnavailable."""
        await self.writer.settle(settle_seconds)
        await self.writer.flush_unsent()

    async def _verify(self, builder: PortsBuilder) -> JobRecord | Refusal:
        """Judge the job's checks. The job succeeds whether they pass or not."""
        checked = await _run_checks(await builder.build())
        await self.writer.send()
        result = Result(f"{report_summary(checked)}.", approved_by=None, checks=checked)
        return await self._ending.succeed(result)

    async def _begin(self, builder: PortsBuilder) -> JobRecord | Refusal:
        """Run the graph from its start. The workspace has the files of the conversation's last job,
        overlaid with the files of this job."""
        record, store = self.record, self.operations.store
        if record.graph == RESTART:
            await self._saver().adelete_thread(record.id)
        entries = await self.context.patience.retry(
            lambda: store.conversation(record.tenant, record.conversation_id, ENTRIES_KEPT)
        )
        last_job = None
        if entries and record.spec.repo is not None:
            last_job = await self.context.patience.retry(lambda: store.load(entries[0].job_id))
        builder, rebased = await builder.begin(last_job.record if last_job else None)
        earlier = await self.context.patience.retry(
            lambda: load_earlier_jobs(store, record, entries)
        )
        last = entries[0].workspace if entries else None
        ports = await builder.build(record.start or last)
        files = await start_files(ports)
        repository_map = await symbol_map(ports, record.spec.task)
        graph_input = initial_state(
            _job_input(record.spec, earlier, ports, files, repository_map, rebased)
        )
        return await self._run_graph(builder, graph_input, ports)

    async def _run_graph(
        self,
        builder: PortsBuilder,
        graph_input: Command[Any] | State | None,
        ports: Ports | None = None,
    ) -> JobRecord | Refusal:
        """Run the graph to its next pause or its end."""
        ports = ports or await builder.build()
        self._set_graph_format()
        state = await self._graph().ainvoke(
            graph_input,
            self._config(),
            context=ports,
            durability="sync",
            control=self.control,
        )
        if interrupts := state.get("__interrupt__"):
            return await self._pause(builder, interrupts[0], ports.workspace)
        return await self._ending.finish(builder, read_outcome(state), ports.workspace)

    def _graph(self) -> Graph:
        """The process' graph, with the checkpoints of this attempt."""
        return self.context.graph.copy({"checkpointer": self._saver()})

    def _saver(self) -> RedisSaver:
        return self.context.saver(self.writer)

    def _set_graph_format(self) -> None:
        if self.record.graph != current_format():
            self.writer.batch.graph = current_format()

    async def _find_start(self) -> Begin | Continue | UnrecordedPause | UnrecordedEnd:
        """The point at which the graph continues; see `worker.resumption`. For a retry, first copy
        the checkpoints of its parent, and apply the change of `reopening`."""
        if (start := start_by_record(self.record)) is not None:
            return start
        snapshot = await self._snapshot()
        if self.record.inherits is not None and not snapshot.values:
            # If the parent has no checkpoints, or was removed, the job starts from the beginning.
            await self._saver().acopy_thread(self.record.inherits, self.record.id)
            snapshot = await self._snapshot()
        if (reopen := reopening(self.record, snapshot)) is None:
            return start_by_checkpoint(self.record, snapshot)
        self._set_graph_format()
        await self._graph().aupdate_state(self._config(), reopen.change, as_node=reopen.after)
        return Continue(None)

    async def _pause(
        self, builder: PortsBuilder, interrupt: Interrupt, workspace: Workspace
    ) -> JobRecord | Refusal:
        kind, payload = ReviewKind.QUESTIONS, interrupt.value
        if "questions" not in payload:
            kind = ReviewKind.REVIEW
            change = await builder.store_change(workspace, payload["answer"])
            payload = {
                **payload,
                "decisions": await self._mark_outdated(payload["decisions"], change),
            }
            if change is not None:
                payload |= {"patch": asdict(change.patch), "bundle": change.bundle}
            payload |= await self._owners(workspace)
        await self.writer.send()
        await self.context.write_recording(self.record)
        return await self.ask(Review(interrupt.id, kind, payload))

    async def _owners(self, workspace: Workspace) -> dict[str, Any]:
        """{owners} of the changed files, if a review rule needs them. The submitter of a bundle
        could choose its owners, so they do not count."""
        rules, repo = self.record.spec.review_rules, self.record.spec.repo
        needs_owners = rules and any(CODEOWNERS in names for names in rules.approvers)
        if not needs_owners or repo is None or repo.url is None:
            return {}
        return {"owners": await owners_of_change(workspace)}

    async def _mark_outdated(
        self, decisions: list[dict[str, Any]], change: StoredChange | None
    ) -> list[dict[str, Any]]:
        """The decisions, with a mark on each comment that is on changed lines. A job without a
        repository has no stored patch: the service marks its comments when a page shows them."""
        has_comments = any(decision.get("comments") for decision in decisions)
        if not has_comments or self.record.spec.repo is None:
            return decisions
        patch = await self.context.files.blobs.get(change.patch.digest) if change else b""
        files = await asyncio.to_thread(parse_patch, patch)
        return await asyncio.to_thread(mark_outdated, decisions, files)

    async def _best_result(self) -> Result | None:
        """The result of a job that fails. None if the job has no answer and no file, or if its
        checkpoints are from before a restart or cannot be read."""
        store = self.operations.store
        loaded = await self.context.patience.retry(lambda: store.load(self.record.id))
        record = loaded.record if loaded else self.record
        if self.record.graph == RESTART and record.graph == RESTART:
            return None
        try:
            snapshot = await self._snapshot()
        except StateUnreadable:
            return None
        return await self._ending.best_result(record, snapshot.values)

    @property
    def _ending(self) -> JobEnding:
        return JobEnding(self.record, self.operations, self.context, self.writer)

    async def _snapshot(self) -> StateSnapshot:
        return await self._graph().aget_state(self._config())

    def _config(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.record.id}}


def _job_input(
    spec: JobSpec,
    earlier: Sequence[EarlierJob],
    ports: Ports,
    files: StartFiles,
    repository_map: str,
    rebased: Rebased | None,
) -> JobFields:
    return job_fields(
        task=spec.task,
        steps=spec.steps,
        steps_after=spec.steps_after,
        max_revisions=spec.max_revisions if spec.repair else 1,
        on_exhausted=spec.on_exhausted.value,
        earlier=earlier,
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


async def _run_checks(ports: Ports) -> dict[str, Any]:
    """Run the checks of a job that is a verification, without a graph and a model; returns the
    report. The run has no effects, so it can be repeated after a crash. Raises SandboxUnavailable.
    """
    await ports.cancel.check()
    tree, checks = await ports.workspace.tree(), ports.checks or Checks()
    report = await judge_work(ports, checks, tree)
    checked = await report_data(report, ports)
    await ports.events.emit(Event(_VERIFICATION, "checked", {"revision": None, **checked}))
    return checked
