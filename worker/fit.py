"""From settings to the equipment of a process."""

from __future__ import annotations

import asyncio

from agents.models import ModelOptions, ModelPool
from agents.models.rate_limit import Pace
from agents.ports import Bounds
from jobs.storage import open_blobs
from jobs.store.credentials import Credentials
from jobs.store.redis import RedisStore
from settings.worker import WorkerSettings
from worker.backend import backend, limits
from worker.choice import chains
from worker.equipment import Equipment
from worker.metrics.figures import Figures
from worker.metrics.sandbox import CountingSandbox, watch_pool
from worker.ports.rate_limit import RedisRateLimit
from worker.reach.pages import pages
from worker.readiness import Readiness
from worker.recordings import Recordings, redaction
from worker.routing import routes
from worker.run_cache import RunCache
from worker.spending import Spending
from worker.tools import packages, tools


def equip(settings: WorkerSettings, store: RedisStore, figures: Figures) -> Equipment:
    """Everything a process needs to work on jobs; the sandbox is not tried yet.

    Raises worker.tools.ToolUnfit.
    """
    own = backend(settings, settings.data_dir)
    sandbox = CountingSandbox(own, figures)
    watch_pool(own, figures)
    return Equipment(
        store=store,
        blobs=open_blobs(settings.blobs_dir, settings.bucket()),
        sandbox=sandbox,
        readiness=Readiness(sandbox, settings.sandbox),
        run_cache=RunCache.over(sandbox, own, settings),
        models=ModelPool(model_options(settings), rate_limit(settings, store), figures),
        chains=chains(settings),
        routes=routes(settings),
        recordings=Recordings(settings.record, redaction(settings)),
        limits=limits(settings),
        bounds=Bounds(
            steps=settings.max_steps,
            abreast=settings.parallel_steps,
            history=settings.history_characters,
            conversation=settings.conversation_characters,
            sums_up=bool(settings.summary_model),
        ),
        spending=Spending.allowed(settings, Credentials(store.redis)),
        turns=asyncio.Semaphore(settings.runs_at_once),
        tools=tools(settings),
        pages=pages(settings),
        packages=packages(settings),
        patience=settings.patience_seconds,
    )


def rate_limit(settings: WorkerSettings, store: RedisStore) -> RedisRateLimit:
    """How often providers are asked, by all workers together."""
    paces = {provider: Pace(*rate) for provider, rate in settings.rates().items()}
    return RedisRateLimit(store.redis, paces, settings.rate_wait_seconds)


def model_options(settings: WorkerSettings) -> ModelOptions:
    """Keys, addresses and bounds of model calls."""
    return ModelOptions(
        api_keys=settings.api_keys(),
        base_urls=settings.base_urls(),
        connect_seconds=settings.model_connect_seconds,
        first_token_seconds=settings.model_first_token_seconds,
        total_seconds=settings.model_timeout_seconds,
        max_retries=settings.model_max_retries,
        max_output_tokens=settings.max_output_tokens,
        context_tokens=settings.context_tokens,
        recordings=settings.recordings_dir,
        redaction=redaction(settings),
    )
