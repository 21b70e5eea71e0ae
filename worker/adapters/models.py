"""Models of attempts: which models play which role, and what their servers accept."""

from __future__ import annotations

import time
from dataclasses import replace

import structlog

from agents.attempt import Ports
from agents.calls.router import AUTO, Difficulty, Routes, route
from agents.models.build import installed
from agents.models.capabilities.record import Capabilities
from agents.models.pool import ModelPool
from agents.models.providers import PROVIDERS, Provider
from agents.models.role_models import LIGHT, Chains, RoleModels
from jobs.errors import JobsError
from jobs.model.record import JobRecord
from jobs.model.spec import JobSpec
from jobs.store.fleet import CapabilityRecords
from jobs.store.redis_store import RedisStore
from settings.models import ModelSettings, RoutingSettings
from worker.store import Patience


def chains(settings: ModelSettings) -> Chains:
    """The models of the settings. Without a model in the settings, the first provider with a key is
    used, without a fallback: a key alone does not allow a second provider to receive prompts.
    """
    by_role, default = settings.role_chains(), settings.model
    if not default and (provider := _first_provider(settings)) is not None:
        default = (f"{provider.name}:{provider.large}",)
        by_role = {**dict.fromkeys(LIGHT, (f"{provider.name}:{provider.small}",)), **by_role}
    return Chains(default, by_role, settings.escalation_chains())


def _first_provider(settings: ModelSettings) -> Provider | None:
    """The first provider with a key and an installed library; else the first with a key, so that
    its error names the library."""
    keys = settings.api_keys()
    with_key = [row for row in PROVIDERS.values() if row.name in keys and row.large]
    return next(iter([*filter(installed, with_key), *with_key]), None)


def models_of(pool: ModelPool, spec: JobSpec, chains: Chains) -> RoleModels:
    """The models of one job. If its spec names a model, each role without models in the spec uses
    that model, without a fallback, and no role escalates.
    """
    by_role = spec.role_models or {}
    if spec.model is not None and spec.model != AUTO:
        return RoleModels(pool, Chains((spec.model,), by_role))
    return RoleModels(pool, replace(chains, by_role={**chains.by_role, **by_role}))


def routes(settings: RoutingSettings) -> Routes:
    """The router's models by difficulty."""
    by_difficulty: dict[str, tuple[str, ...]] = {
        Difficulty.SIMPLE: settings.route_simple,
        Difficulty.MEDIUM: settings.route_medium,
        Difficulty.HARD: settings.route_hard,
    }
    models = {difficulty: chain for difficulty, chain in by_difficulty.items() if chain}
    return Routes(models, plans_simple=not settings.route_skips_planning)


async def with_routed_models(
    record: JobRecord,
    ports: Ports,
    models: RoleModels,
    store: RedisStore,
    patience: Patience,
    routes: Routes,
) -> Ports:
    """The ports with the models for the job's difficulty, if the spec leaves the choice to the
    router.

    The decision is an event of the job: a later attempt reads the event and does not decide again.
    """
    if record.spec.model != AUTO:
        return ports
    difficulty = await _stored_difficulty(record, store, patience)
    if difficulty is None:
        files = len(ports.workspace.list())
        executor = models.chains.by_role.get("executor", (None,))[0]
        difficulty = await route(ports, routes, record.spec.task, files, executor)
    return replace(
        ports,
        models=_replace_default(models, routes.models.get(difficulty)),
        bounds=replace(
            ports.bounds, use_planner=routes.plans_simple or difficulty is not Difficulty.SIMPLE
        ),
    )


async def _stored_difficulty(
    record: JobRecord, store: RedisStore, patience: Patience
) -> Difficulty | None:
    if record.attempts == 1 and record.inherits is None:
        return None
    # A job has one decision, also after a restart by an upgrade: the event is emitted only once.
    events = await patience.retry(lambda: store.events(record.id))
    decisions = [event.data["difficulty"] for event in events if event.kind == "routed"]
    return Difficulty(decisions[-1]) if decisions else None


def _replace_default(models: RoleModels, chain: tuple[str, ...] | None) -> RoleModels:
    """The models with this default chain. A role with a model in the settings keeps that model."""
    if chain is None:
        return models
    return RoleModels(models.pool, replace(models.chains, default=chain))


FRESH_SECONDS = 30.0
"""How long a process uses the records that it has read."""

log = structlog.get_logger("worker.adapters.models")


class RedisCapabilities:
    """Implements agents.models.capabilities.record.CapabilityStore.

    A process reads all records at most every FRESH_SECONDS. It keeps them, and all that it learns
    itself, in memory: while Redis is away, no call waits for it a second time or fails.
    """

    def __init__(self, records: CapabilityRecords) -> None:
        self._records = records
        self._records_by_model: dict[str, Capabilities] = {}
        self._read_at = float("-inf")

    async def read(self, model: str) -> Capabilities:
        """See CapabilityStore."""
        if time.monotonic() - self._read_at > FRESH_SECONDS:
            self._read_at = time.monotonic()
            await self._refresh()
        return self._records_by_model.get(model, Capabilities())

    async def write(self, model: str, learned: Capabilities) -> None:
        """See CapabilityStore."""
        await self._refresh()
        record = self._records_by_model.get(model, Capabilities()).merged(learned.dated())
        self._records_by_model[model] = record
        fields = record.model_dump(mode="json", exclude_defaults=True)
        log.info("learned what a model's server accepts", model=model, record=fields)
        try:
            await self._records.put(model, record.model_dump_json(exclude_defaults=True))
        except JobsError as error:
            log.warning("capabilities not stored", model=model, why=str(error))

    async def _refresh(self) -> None:
        """Read all records; those that no longer count are removed."""
        try:
            texts = await self._records.all()
            by_model = {model: Capabilities.parse(text) for model, text in texts.items()}
            for model, record in by_model.items():
                if record == Capabilities():
                    await self._records.remove(model)
            self._records_by_model = by_model
        except JobsError as error:
            log.warning("capabilities not read", why=str(error))
