"""PortsBuilder: from the parts of a process to the ports of one attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agents.attempt import Ports
from agents.checks.cases import parse_cases
from agents.ports import CallKey, Event, Workspace
from agents.ports.checks import Checks
from agents.ports.repository import Rebased
from jobs.blobs import manifest
from jobs.blobs.manifest import load
from jobs.model.record import RESTART, JobRecord
from jobs.model.review import Action
from jobs.model.spec import CASES_PATH
from jobs.store.blob_index import PinnedBlobs
from jobs.view.change import change_to_continue
from worker.adapters.live_runs import JobOutputs
from worker.adapters.models import models_of, with_routed_models
from worker.adapters.repository import (
    StoredChange,
    base_of,
    facts_of,
    missing_content,
    restart_record,
    store_change,
)
from worker.adapters.workspace import ManifestWorkspace
from worker.context import WorkerContext
from worker.delivery.push import with_recorded_commit
from worker.ledger import AttemptWriter, Ledger, RecordCheck
from worker.repositories.continuation import Beginning
from worker.repositories.setups.detected import Setup
from worker.repositories.setups.setup import Installed, emit_fetch_started, install_dependencies


@dataclass(frozen=True, slots=True)
class PortsBuilder:
    """Builds the ports of the attempt at `record`. Its methods raise RepositoryRefused."""

    context: WorkerContext
    record: JobRecord
    ledger: Ledger
    unanswered: dict[str, float] = field(default_factory=dict)
    """Model calls that were cut off without a reply: seconds by model. The ports add to it."""

    @property
    def writer(self) -> AttemptWriter:
        """The writer of the attempt."""
        return self.ledger.writer

    async def build(self, earlier: str | None = None) -> Ports:
        """The ports. `earlier` is the digest of the workspace that a follow-up job starts from."""
        context, record, spec = self.context, self.record, self.record.spec
        workspace = await self.workspace(earlier)
        if earlier is not None:
            self.writer.keep_blobs(workspace.digests())  # the earlier job may be removed first
            self.writer.batch.start = workspace.digest if spec.repo is None else None
        if workspace.digest != record.workspace or record.graph == RESTART:
            self.writer.batch.workspace = workspace.digest or ""
        if spec.repo is not None and workspace.digest != record.workspace:
            self.writer.batch.start = workspace.digest  # the files of the request, over the commit
        sandboxes = context.runs.sandboxes
        environment = await sandboxes.environment(spec.image)
        await self._emit_missing(workspace)
        await context.tools.servers.wait()
        setup = await self._install(workspace)
        models = models_of(context.models.pool, spec, context.models.chains)
        record_check = RecordCheck(context.store, self.writer)
        ports = Ports(
            journal=self.ledger,
            events=self.ledger,
            budget=context.models.spending.budget(record, context.store, self.ledger),
            prices=context.models.spending.prices,
            cancel=record_check,
            messages=record_check,
            workspace=workspace,
            sandbox=sandboxes.of(spec.image),
            models=models,
            limits=context.runs.limits(spec),
            environment=environment,
            repository=await facts_of(workspace, environment, setup),
            unanswered=self.unanswered,
            last_try=record.retries >= context.retries,
            bounds=replace(
                context.bounds,
                steps=spec.max_steps or context.bounds.steps,
                allow_repair=spec.repair,
                pause_each_run=spec.shows_each_run,
                review=spec.review,
            ),
            pages=context.tools.pages,
            tool_servers=context.tools.servers,
            checks=await self._checks(),
            redaction=context.files.recordings.of(record),
            merge_texts=context.files.repositories.merge_texts,
            tokens=context.models.live_tokens.of(record.id),
            outputs=JobOutputs(context.models.live_tokens, record.id),
        )
        return await with_routed_models(
            record, ports, models, context.store, context.patience, context.models.routes
        )

    async def begin(self, earlier: JobRecord | None) -> tuple[PortsBuilder, Rebased | None]:
        """The builder with the files that the graph starts with, and the facts for prompts about an
        earlier change that is merged into the files. `earlier`: the last succeeded job of the
        conversation. See ADR 97."""
        record = self.record
        if record.graph == RESTART:
            record = await restart_record(record, self.blobs)
        if record.continues is None and record.spec.repo is not None:
            record = await self._continue_change(record, earlier)
        start, is_follow_up = record.continues, record.spec.rebase is None
        builder = replace(self, record=record)
        if start is None or not start.merged:
            return builder, None
        return builder, Rebased(start.change.base, start.conflicts, is_follow_up)

    async def _continue_change(self, record: JobRecord, earlier: JobRecord | None) -> JobRecord:
        """Choose the commit of a job that continues an earlier change. The first attempt records
        its choice; without an earlier change, it records the commit later."""
        change = record.spec.rebase
        if change is None and earlier is not None:
            is_chosen = (await load(self.blobs, record.workspace)).base is not None
            change = None if is_chosen else change_to_continue(earlier)
        if change is None:
            return record
        await self._emit_fetching()
        repositories, carried = self.context.files.repositories, record.spec.workspace
        if record.spec.rebase is None and earlier is not None:
            carried = earlier.workspace
        start = await Beginning(record, repositories, self.blobs, change, carried).choose()
        files = (await load(self.blobs, start.workspace)).files.values()
        bundles = filter(None, (change.bundle, change.upload))
        # the earlier job may be removed first
        self.writer.keep_blobs([*(entry.digest for entry in files), *bundles])
        self.writer.batch.workspace = start.workspace
        self.writer.batch.continues = start.continues
        self.writer.batch.start = None if start.continues else start.workspace
        await self.writer.send()  # from here on the commit is chosen, even if the branch moves
        return replace(record, workspace=start.workspace, continues=start.continues)

    async def workspace(self, earlier: str | None = None) -> ManifestWorkspace:
        """The files of the job after its last finished call."""
        await self._emit_fetching()
        base = await base_of(self.record, self.context.files.repositories, self.blobs)
        if base is None:
            return await ManifestWorkspace.open(self.blobs, self.record.workspace, earlier)
        return await ManifestWorkspace.on_commit(self.blobs, self.record.workspace, base)

    async def store_change(self, workspace: Workspace, answer: str) -> StoredChange | None:
        """Store the change of the `workspace` as a patch and a commit, with `answer` in its
        message; None if there is no change or no repository. If a commit was recorded for the
        delivery of this change, the change has that commit."""
        author = self.context.files.author
        change = await store_change(self.record, workspace, self.blobs, answer, author)
        return await with_recorded_commit(self.ledger, change) if change else None

    @property
    def blobs(self) -> PinnedBlobs:
        """The blob store. New bytes are kept as long as the job."""
        return PinnedBlobs(
            self.context.files.blobs, self._pin, lambda digest: self.writer.keep_blobs([digest])
        )

    async def _pin(self, digests: Sequence[str]) -> Sequence[str]:
        """Pin the files of a run. Wait for a store that does not answer: otherwise the run would be
        repeated."""
        context = self.context
        return await context.patience.retry(lambda: context.store.blobs.pin(digests))

    async def _install(self, workspace: ManifestWorkspace) -> Installed | Setup | None:
        """Give the workspace the repository's dependencies, and return them: see
        `install_dependencies`."""
        record, runs = self.record, self.context.runs
        decision = record.decision
        if workspace.base is None or (decision and decision.action is Action.APPROVE):
            return None  # no more code runs after an approval
        image = record.spec.image
        sandbox, environment = runs.sandboxes.of(image), await runs.sandboxes.environment(image)
        setup = await install_dependencies(
            record, workspace.base, sandbox, environment, runs.setups, self.ledger
        )
        if isinstance(setup, Installed):
            workspace.install(setup)
        return setup

    async def _emit_fetching(self) -> None:
        if self.record.spec.repo is not None and self.record.attempts == 1:
            await emit_fetch_started(self.record, self.record.spec.repo, self.ledger)

    async def _emit_missing(self, workspace: ManifestWorkspace) -> None:
        if workspace.base is not None and (missing := missing_content(workspace.base)):
            key = CallKey(self.record.id, "missing", 0)
            await self.ledger.emit(Event(key, "files_missing", {"missing": [*missing]}))

    async def _checks(self) -> Checks | None:
        """The acceptance checks of the job."""
        spec = self.record.spec.checks
        if spec is None:
            return None
        blobs = self.context.files.blobs
        files = (await manifest.load(blobs, spec.manifest)).files
        texts = {path: (await blobs.get(files[path].digest)).decode() for path in files}
        cases = parse_cases(texts.pop(CASES_PATH, "[]"))
        return Checks(texts, spec.command, cases)
