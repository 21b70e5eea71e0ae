"""WorkerContext: what a process needs to work on jobs, from settings and a store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from agents.attempt import Ports
from agents.calls.router import AUTO, Routes
from agents.checks.cases import parse_cases
from agents.graph.build import build
from agents.graph.stored_state import check_value
from agents.models.chains import Chains
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.ports import Bounds
from agents.ports.checks import Checks
from agents.ports.network import Pages
from agents.ports.repository import Rebased
from agents.spending.rate_limit import Pace
from agents.tools.registry import Body
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs, open_blobs
from jobs.model.record import ANEW, JobRecord
from jobs.model.review import Action
from jobs.model.spec import CASES_PATH, JobSpec
from jobs.redis.connection import RedisCommand
from jobs.store import LeaseRef
from jobs.store.blob_index import PinnedBlobs
from jobs.store.credentials import Credentials
from jobs.store.redis_store import RedisStore
from sandbox.protocol import Limits, Sandbox
from settings.worker import WorkerSettings
from worker.adapters.backend import backend, limits
from worker.adapters.budget import Spending
from worker.adapters.cancel import StoreCancel
from worker.adapters.model_choice import chains, models_of
from worker.adapters.models.capabilities import RedisCapabilities
from worker.adapters.models.rate_limit import RedisRateLimit
from worker.adapters.recordings import Recordings, redaction
from worker.adapters.repository import anew, base_of, facts_of
from worker.adapters.routing import routed, routes
from worker.adapters.sandbox import Bounded, Readiness, Sandboxes, watch_pool
from worker.adapters.tokens import LiveTokens
from worker.adapters.tools import tools
from worker.adapters.workspace import ManifestWorkspace
from worker.checkpoints import RedisSaver
from worker.delivery.hosts import DeliveryHosts
from worker.egress.client import pages
from worker.ledger import CURRENT, Ledger
from worker.metrics.figures import Figures
from worker.readiness import WorkerReadiness, model_readiness, storage_readiness
from worker.repositories import rebase
from worker.repositories.setups.detected import Setup
from worker.repositories.setups.job import fetching, installed
from worker.repositories.setups.run import Indexes
from worker.repositories.setups.setup import Installed, Setups
from worker.repositories.source import Repositories
from worker.store import retry_while_unavailable


@dataclass(slots=True)
class WorkerContext:
    """The graph is compiled once a process; all that belongs to a job goes in as its Ports.

    A checkpoint is written through the ledger of the current attempt (`ledger.CURRENT`), so that it
    carries that attempt's epoch. `patience` is a Ledger's.
    """

    store: RedisStore
    blobs: Blobs
    sandboxes: Sandboxes
    readiness: WorkerReadiness
    models: ModelPool
    chains: Chains
    routes: Routes
    recordings: Recordings
    limits: Callable[[JobSpec], Limits]
    bounds: Bounds
    spending: Spending
    tools: Sequence[Body]
    pages: Pages | None
    repositories: Repositories
    deliveries: DeliveryHosts
    setups: Setups
    author: str
    patience: float
    retries: int = 0
    """The fleet's rule of that name."""
    graph: Any = field(init=False)
    live: LiveTokens = field(init=False)
    saver: RedisSaver = field(init=False)

    def __post_init__(self) -> None:
        """Compile the graph over checkpoints that are written through ledgers."""
        self.live = LiveTokens(self.store.tokens)
        self.saver = RedisSaver(self.store.redis, checkpoint, check_value)
        self.graph = build(self.saver, self.tools)

    async def ledger(self, record: JobRecord) -> Ledger:
        """The ledger of one attempt, with what earlier attempts left on record."""
        begins = record.attempts == 1 and record.inherits is None
        journal = {} if begins or record.resumes_pause else await self.store.journal(record.id)
        charges = [] if begins else await self.store.charges(record.id)
        tokens = sum(charge.input_tokens + charge.output_tokens for charge in charges)
        held = LeaseRef(record.id, record.epoch)
        return Ledger(self.store, held, journal, tokens, patience=self.patience)

    async def ports(
        self,
        record: JobRecord,
        ledger: Ledger,
        earlier: str | None = None,
        *,
        unanswered: dict[str, float],
    ) -> Ports:
        """The ports of one attempt. `earlier` is the workspace that a follow-up starts from;
        `unanswered` receives the model calls that are cut off."""
        spec = record.spec
        workspace = await self.workspace(record, ledger, earlier)
        if earlier is not None:
            ledger.refer(workspace.digests())  # the job that they come from may be removed first
        if workspace.digest != record.workspace or record.graph == ANEW:
            ledger.start_from(workspace.digest)
        environment = await self.sandboxes.environment(spec.image)
        setup = await self._installed(record, workspace, ledger)
        models = models_of(self.models, _named(record), self.chains)
        ports = Ports(
            journal=ledger,
            events=ledger,
            budget=self.spending.budget(record, self.store, ledger),
            prices=self.spending.prices,
            cancel=StoreCancel(self.store, ledger),
            workspace=workspace,
            sandbox=self.sandboxes.of(spec.image),
            models=models,
            limits=self.limits(spec),
            environment=environment,
            repository=await facts_of(workspace, environment, setup),
            unanswered=unanswered,
            last_try=record.retries >= self.retries,
            bounds=replace(
                self.bounds,
                steps=spec.max_steps or self.bounds.steps,
                allow_repair=spec.repair,
                pause_each_run=spec.shows_each_run,
                review=spec.review,
            ),
            pages=self.pages,
            checks=await self.checks(record),
            redaction=self.recordings.of(record),
            tokens=self.live.of(record.id),
        )
        return await routed(record, ports, models, self.store, self.routes)

    async def begun(self, record: JobRecord, ledger: Ledger) -> tuple[JobRecord, Rebased | None]:
        """The job with the files that its graph begins with; what prompts say of those of a rebase.
        Raises RepositoryRefused."""
        blobs = self.pinned(ledger)
        if record.graph == ANEW:
            record = await anew(record, blobs)
        if record.spec.rebase is None:
            return record, None
        await self._fetching(record, ledger)
        found = await rebase.begun(record, self.repositories, blobs)
        ledger.start_from(found.workspace)
        await ledger.flush()  # from here on the commit is chosen, wherever the branch goes
        return replace(record, workspace=found.workspace), found.facts

    async def _installed(
        self, record: JobRecord, workspace: ManifestWorkspace, ledger: Ledger
    ) -> Installed | Setup | None:
        """Give the workspace the repository's dependencies, and return them; see `installed`."""
        decision = record.decision
        if workspace.base is None or (decision and decision.action is Action.APPROVE):
            return None  # what is approved runs no more
        image = record.spec.image
        sandbox, environment = self.sandboxes.of(image), await self.sandboxes.environment(image)
        found = await installed(record, workspace.base, sandbox, environment, self.setups, ledger)
        if isinstance(found, Installed):
            workspace.install(found)
        return found

    async def workspace(
        self, record: JobRecord, ledger: Ledger, earlier: str | None = None
    ) -> ManifestWorkspace:
        """The files of the job as its last finished call left them. Raises RepositoryRefused."""
        blobs = self.pinned(ledger)
        await self._fetching(record, ledger)
        base = await base_of(record, self.repositories, blobs)
        if base is None:
            return await ManifestWorkspace.open(blobs, record.workspace, earlier)
        return await ManifestWorkspace.over(blobs, record.workspace, base)

    async def _fetching(self, record: JobRecord, ledger: Ledger) -> None:
        if record.spec.repo is not None and record.attempts == 1:
            await fetching(record, record.spec.repo, ledger)

    def pinned(self, ledger: Ledger) -> PinnedBlobs:
        """The blob store, where what is put is kept as long as the job."""
        return PinnedBlobs(self.blobs, self._pin, lambda digest: ledger.refer([digest]))

    async def _pin(self, digests: Sequence[str]) -> Sequence[str]:
        """Pin the files of a run, and wait for a store that is away: the run would be repeated
        otherwise."""
        return await retry_while_unavailable(lambda: self.store.blobs.pin(digests), self.patience)

    async def checks(self, record: JobRecord) -> Checks | None:
        """The acceptance checks that the job carries."""
        asked = record.spec.checks
        if asked is None:
            return None
        files = (await manifest.load(self.blobs, asked.manifest)).files
        texts = {path: (await self.blobs.get(files[path].digest)).decode() for path in files}
        cases = parse_cases(texts.pop(CASES_PATH, "[]"))
        return Checks(texts, asked.command, cases)

    async def write_down(self, record: JobRecord) -> None:
        """Write the job's recording to a file, where the operator wants one."""
        await self.recordings.write(record, self.store, self.blobs)

    async def close(self) -> None:
        """Destroy sandboxes, close connections to providers."""
        await self.sandboxes.close()
        await self.live.close()
        await self.models.aclose()


def _named(record: JobRecord) -> str | None:
    """The model that the job wants; the router's own are those of a job that wants none."""
    return None if record.spec.model == AUTO else record.spec.model


async def checkpoint(
    thread_id: str,  # noqa: ARG001 - the ledger's own job
    commands: Sequence[RedisCommand],
) -> None:
    """Save under the epoch of the attempt that the running code belongs to."""
    await CURRENT.get().checkpoint(commands)


def build_context(settings: WorkerSettings, store: RedisStore, figures: Figures) -> WorkerContext:
    """Everything a process needs to work on jobs; the sandbox is not tried yet.

    Raises worker.adapters.tools.ToolUnfit, worker.repositories.errors.RepositoriesUnfit.
    """
    paces = {provider: Pace(*rate) for provider, rate in settings.rates().items()}
    rate_limit = RedisRateLimit(
        store.redis, paces, settings.rate_wait_seconds, settings.model_wait_seconds
    )
    repositories = Repositories.over(settings)
    opened = partial(backend, settings, settings.data_dir, layers=repositories.layers)
    own, free = opened(), asyncio.Semaphore(settings.runs_at_once)
    sandbox = Bounded(own, free, figures)

    def of_image(image: str) -> Sandbox:
        return Bounded(opened(image=image), free, figures)

    watch_pool(lambda: own.pool, figures)
    blobs = open_blobs(settings.blobs_dir, settings.bucket())
    capabilities = RedisCapabilities(store.capabilities)
    models = ModelPool(model_options(settings), rate_limit, figures, capabilities)
    default = chains(settings)
    return WorkerContext(
        store=store,
        blobs=blobs,
        sandboxes=Sandboxes(sandbox, settings.sandbox_images, of_image),
        readiness=WorkerReadiness(
            Readiness(sandbox, settings.sandbox),
            storage_readiness(blobs, "bucket" if settings.blobs_bucket else "directory"),
            model_readiness(models, default),
        ),
        models=models,
        chains=default,
        routes=routes(settings),
        recordings=Recordings(settings.record, redaction(settings)),
        limits=partial(limits, settings),
        bounds=Bounds(
            steps=settings.max_steps,
            critic_calls=settings.critic_calls,
            max_parallel_steps=settings.parallel_steps,
            mutations=settings.mutations,
            files=settings.shown_files_characters,
            context_share=settings.context_share,
            critic_share=settings.critic_share,
            summarize_with_model=bool(settings.summary_model),
        ),
        spending=Spending.allowed(settings, Credentials(store.redis)),
        tools=tools(settings),
        pages=pages(settings),
        repositories=repositories,
        deliveries=DeliveryHosts.over(settings, repositories.hosts),
        setups=Setups(repositories.places, Indexes.over(settings)),
        author=settings.repo_author,
        patience=settings.patience_seconds,
    )


def model_options(settings: WorkerSettings) -> ModelOptions:
    """Keys, addresses and bounds of model calls."""
    return ModelOptions(
        api_keys=settings.api_keys(),
        base_urls=settings.base_urls(),
        provider_settings=settings.provider_settings(),
        connect_seconds=settings.model_connect_seconds,
        first_token_seconds=settings.model_first_token_seconds,
        tokens_per_second=settings.model_min_tokens_per_second,
        total_seconds=settings.model_timeout_seconds,
        max_retries=settings.model_max_retries,
        max_wait_seconds=settings.model_wait_seconds,
        max_output_tokens=settings.max_output_tokens,
        context_tokens=settings.context_tokens,
        repair_temperature=settings.repair_temperature,
        headers=settings.headers(),
        bodies=settings.model_body,
        capabilities=settings.model_capabilities,
        recordings=settings.recordings_dir,
        redaction=redaction(settings),
    )
