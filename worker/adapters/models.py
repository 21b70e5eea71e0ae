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
from jobs.store.fleet import CapabilityRecords
from jobs.store.redis_store import RedisStore
from settings.models import ModelSettings, RoutingSettings
from worker.store import retry_while_unavailable


def chains(settings: ModelSettings) -> Chains:
    """The models of the settings. Where none is set, the first provider with a key answers, without
    a fallback: a key alone never means that another provider may receive prompts.
    """
    by_role, default = settings.role_chains(), settings.model
    if not default and (able := _first_able(settings)) is not None:
        default = (f"{able.name}:{able.large}",)
        by_role = {**dict.fromkeys(LIGHT, (f"{able.name}:{able.small}",)), **by_role}
    return Chains(default, by_role, settings.escalation_chains())


def _first_able(settings: ModelSettings) -> Provider | None:
    """Of those whose library is here; else of all, so that its error says how to install it."""
    keys = settings.api_keys()
    with_key = [each for each in PROVIDERS.values() if each.name in keys and each.large]
    return next(iter([*filter(installed, with_key), *with_key]), None)


def models_of(pool: ModelPool, wanted: str | None, chosen: Chains) -> RoleModels:
    """The models of one job; `wanted` is the one that its spec names.

    A job that names a model gets that one in every role, or an error: there is no fallback and no
    escalation.
    """
    return RoleModels.alone(pool, wanted) if wanted else RoleModels(pool, chosen)


def routes(settings: RoutingSettings) -> Routes:
    """What the settings say."""
    chosen: dict[str, tuple[str, ...]] = {
        Difficulty.SIMPLE: settings.route_simple,
        Difficulty.MEDIUM: settings.route_medium,
        Difficulty.HARD: settings.route_hard,
    }
    models = {difficulty: chain for difficulty, chain in chosen.items() if chain}
    return Routes(models, plans_simple=not settings.route_skips_planning)


async def routed(
    record: JobRecord, ports: Ports, models: RoleModels, store: RedisStore, chosen: Routes
) -> Ports:
    """`ports` with the models for the job's difficulty; the same where the spec names its model.

    The decision is an event of the job: a later attempt reads it there and does not decide again.
    """
    if record.spec.model != AUTO:
        return ports
    difficulty = await _stored_difficulty(record, store)
    if difficulty is None:
        files = len(ports.workspace.list())
        own = models.chains.by_role.get("executor", (None,))[0]
        difficulty = await route(ports, chosen, record.spec.task, files, own)
    return replace(
        ports,
        models=_replace_default(models, chosen.models.get(difficulty)),
        bounds=replace(
            ports.bounds, use_planner=chosen.plans_simple or difficulty is not Difficulty.SIMPLE
        ),
    )


async def _stored_difficulty(record: JobRecord, store: RedisStore) -> Difficulty | None:
    if record.attempts == 1 and record.inherits is None:
        return None
    # One decision a job, also where an upgrade has started it over: the event is emitted only once.
    events = await retry_while_unavailable(lambda: store.events(record.id))
    said = [event.data["difficulty"] for event in events if event.kind == "routed"]
    return Difficulty(said[-1]) if said else None


def _replace_default(models: RoleModels, chain: tuple[str, ...] | None) -> RoleModels:
    """The chain in place of the default: a role that the settings name a model for keeps it."""
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
        self._known: dict[str, Capabilities] = {}
        self._read_at = float("-inf")

    async def read(self, model: str) -> Capabilities:
        """See CapabilityStore."""
        if time.monotonic() - self._read_at > FRESH_SECONDS:
            self._read_at = time.monotonic()
            await self._refresh()
        return self._known.get(model, Capabilities())

    async def write(self, model: str, learned: Capabilities) -> None:
        """See CapabilityStore."""
        await self._refresh()
        record = self._known.get(model, Capabilities()).merged(learned.dated())
        self._known[model] = record
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
            known = {model: Capabilities.parse(text) for model, text in texts.items()}
            for model, record in known.items():
                if record == Capabilities():
                    await self._records.remove(model)
            self._known = known
        except JobsError as error:
            log.warning("capabilities not read", why=str(error))
