"""Routing: which models an attempt at a job asks whose spec leaves the choice to the router."""

from __future__ import annotations

from dataclasses import replace

from agents.attempt import Ports
from agents.calls.router import AUTO, Difficulty, Routes, route
from agents.models.role_models import RoleModels
from jobs.model.record import JobRecord
from jobs.store.redis_store import RedisStore
from settings.models import RoutingSettings
from worker.store import retry_while_unavailable


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
    difficulty = await _known(record, store)
    if difficulty is None:
        files = len(ports.workspace.list())
        own = models.chains.by_role.get("executor", (None,))[0]
        difficulty = await route(ports, chosen, record.spec.task, files, own)
    return replace(
        ports,
        models=_models(models, chosen.models.get(difficulty)),
        bounds=replace(
            ports.bounds, use_planner=chosen.plans_simple or difficulty is not Difficulty.SIMPLE
        ),
    )


async def _known(record: JobRecord, store: RedisStore) -> Difficulty | None:
    if record.attempts == 1 and record.inherits is None:
        return None
    # One decision a job, also where an upgrade has started it over: the event is emitted only once.
    events = await retry_while_unavailable(lambda: store.events(record.id))
    said = [event.data["difficulty"] for event in events if event.kind == "routed"]
    return Difficulty(said[-1]) if said else None


def _models(models: RoleModels, chain: tuple[str, ...] | None) -> RoleModels:
    """The chain in place of the default: a role that the settings name a model for keeps it."""
    if chain is None:
        return models
    return RoleModels(models.pool, replace(models.chains, default=chain))
