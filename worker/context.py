"""WorkerContext: the parts of a worker that work on jobs, built from settings and a store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from agents.calls.router import Routes
from agents.graph.build import Graph, build
from agents.graph.stored_state import check_value
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import Chains
from agents.ports import Bounds
from agents.ports.network import Pages
from agents.spending.rate_limit import Pace
from agents.tools.registry import Body
from jobs.blobs.directory import Blobs, open_blobs
from jobs.model.record import JobRecord
from jobs.model.spec import JobSpec
from jobs.store.credentials import Credentials
from jobs.store.redis_store import RedisStore
from sandbox.protocol import Limits, Sandbox
from settings.starting.provider_rows import provider_variable
from settings.worker import WorkerSettings
from worker.adapters.backend import backend, limits
from worker.adapters.budget import Spending
from worker.adapters.models import RedisCapabilities, chains, routes
from worker.adapters.rate_limit import RedisRateLimit
from worker.adapters.recordings import Recordings, redaction
from worker.adapters.sandbox import Bounded, Sandboxes, watch_pool
from worker.adapters.tokens import LiveTokens
from worker.adapters.tool_servers import McpServers, open_servers
from worker.adapters.tools import tools
from worker.checkpoints import RedisSaver
from worker.delivery.push import DeliveryHosts
from worker.egress.pages import page_client
from worker.ledger import AttemptWriter, Ledger
from worker.metrics import WorkerFigures
from worker.readiness import Readiness, WorkerReadiness, model_readiness, storage_readiness
from worker.repositories.setups.run import Indexes
from worker.repositories.setups.setup import Setups
from worker.repositories.source import Repositories
from worker.store import Patience


@dataclass(frozen=True, slots=True)
class ModelParts:
    """The parts for model calls."""

    pool: ModelPool
    chains: Chains
    """The models of each role, for jobs that name no model."""
    routes: Routes
    """The models by difficulty, for jobs that leave the choice to the router."""
    spending: Spending
    live_tokens: LiveTokens


@dataclass(frozen=True, slots=True)
class RunParts:
    """The parts for runs of code."""

    sandboxes: Sandboxes
    limits: Callable[[JobSpec], Limits]
    setups: Setups


@dataclass(frozen=True, slots=True)
class ToolParts:
    """The tools of executors."""

    bodies: Sequence[Body]
    pages: Pages | None
    """None: the tool `fetch` does not exist."""
    servers: McpServers


@dataclass(frozen=True, slots=True)
class FileParts:
    """The parts for files of jobs, repositories and changes."""

    blobs: Blobs
    repositories: Repositories
    deliveries: DeliveryHosts
    recordings: Recordings
    author: str
    """The author of commits, as `Name <mail>`."""


@dataclass(slots=True)
class WorkerContext:
    """The parts of one process. `worker.ports` gives them to an attempt."""

    store: RedisStore
    readiness: WorkerReadiness
    models: ModelParts
    runs: RunParts
    tools: ToolParts
    files: FileParts
    bounds: Bounds
    patience: Patience
    graph: Graph
    """Compiled once a process, without a checkpointer."""
    retries: int = 0
    """The retries that the fleet's rules grant a job; the engine sets it when the rules change."""

    def saver(self, writer: AttemptWriter) -> RedisSaver:
        """The checkpoints, written by one attempt: remains of an old attempt in this process cannot
        write under the epoch of the job's next attempt."""
        return RedisSaver(self.store.redis, writer.save_checkpoint, self.patience, check_value)

    async def ledger(self, record: JobRecord, writer: AttemptWriter) -> Ledger:
        """The ledger of an attempt, with the journal and the charges of earlier attempts."""
        has_parent = record.inherits is not None
        is_new = record.attempts == 1 and not has_parent
        # a decision ends no call, but the parent of a retry may have recorded a delivery
        is_empty = is_new or (record.resumes_pause and not has_parent)
        journal = {} if is_empty else await self.store.journal(record.id)
        charges = [] if is_new else await self.store.charges(record.id)
        tokens = sum(charge.input_tokens + charge.output_tokens for charge in charges)
        return Ledger(writer, journal, tokens)

    async def write_recording(self, record: JobRecord) -> None:
        """Write the job's recording to a file, if the operator wants recordings."""
        await self.files.recordings.write(record, self.store, self.files.blobs)

    async def close(self) -> None:
        """Destroy sandboxes, close connections to providers."""
        await self.runs.sandboxes.close()
        await self.models.live_tokens.close()
        await self.models.pool.aclose()


def build_context(
    settings: WorkerSettings, store: RedisStore, figures: WorkerFigures
) -> WorkerContext:
    """The parts of a process. Does not try the sandbox.

    Raises worker.adapters.tools.ToolUnfit, worker.repositories.errors.RepositoriesUnfit.
    """
    repositories = Repositories.from_settings(settings)
    patience = Patience(settings.patience_seconds)
    blobs = open_blobs(settings.blobs_dir, settings.bucket())
    models = _model_parts(settings, store, patience, figures)
    sandbox, sandboxes = _sandboxes(settings, repositories, figures)
    tool_parts = ToolParts(
        tools(settings),
        page_client(settings),
        open_servers(settings.mcp_servers, sandbox, limits(settings)),
    )
    return WorkerContext(
        store=store,
        readiness=WorkerReadiness(
            Readiness(sandbox, settings.sandbox),
            storage_readiness(blobs, "bucket" if settings.blobs_bucket else "directory"),
            model_readiness(models.pool, models.chains),
        ),
        models=models,
        runs=RunParts(
            sandboxes,
            partial(limits, settings),
            Setups(repositories.folders, Indexes.from_settings(settings)),
        ),
        tools=tool_parts,
        files=FileParts(
            blobs,
            repositories,
            DeliveryHosts.from_settings(settings, repositories.hosts),
            Recordings(settings.record, redaction(settings)),
            settings.repo_author,
        ),
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
        patience=patience,
        graph=build(None, tool_parts.bodies),
    )


def _model_parts(
    settings: WorkerSettings, store: RedisStore, patience: Patience, figures: WorkerFigures
) -> ModelParts:
    paces = {provider: Pace(*rate) for provider, rate in settings.rates().items()}
    rate_limit = RedisRateLimit(
        store.redis, paces, patience, settings.rate_wait_seconds, settings.model_wait_seconds
    )
    capabilities = RedisCapabilities(store.capabilities)
    return ModelParts(
        ModelPool(model_options(settings), rate_limit, figures, capabilities),
        chains(settings),
        routes(settings),
        Spending.from_settings(settings, Credentials(store.redis), patience),
        LiveTokens(store.tokens),
    )


def _sandboxes(
    settings: WorkerSettings, repositories: Repositories, figures: WorkerFigures
) -> tuple[Sandbox, Sandboxes]:
    """The sandbox of jobs that name no image, and the sandboxes of all images."""
    open_backend = partial(backend, settings, settings.data_dir, layers=repositories.layers)
    default, free = open_backend(), asyncio.Semaphore(settings.runs_at_once)
    watch_pool(lambda: default.pool, figures)
    sandbox = Bounded(default, free, figures)

    def open_image(image: str) -> Sandbox:
        return Bounded(open_backend(image=image), free, figures)

    return sandbox, Sandboxes(sandbox, settings.sandbox_images, open_image)


def model_options(settings: WorkerSettings) -> ModelOptions:
    """Keys, addresses and bounds of model calls."""
    return ModelOptions(
        api_keys=settings.api_keys(),
        base_urls=settings.base_urls(),
        provider_settings=settings.provider_settings(),
        name_setting=provider_variable,
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
