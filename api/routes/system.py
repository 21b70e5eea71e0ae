"""System: what `fettle doctor` prints."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Response

from api.answers import as_json
from api.caller import Overseer
from api.documented import responses
from api.schemas.system import Finding, RedisState, System, Worker
from api.services import Services, ServicesDep
from api.undelivered import undelivered
from jobs.fitness import Fitness
from jobs.view import iso
from settings.api import ApiSettings

router = APIRouter(tags=["system"])


@router.get("/system", response_model=System, summary="The whole deployment", responses=responses())
async def system(house: ServicesDep, caller: Overseer) -> Response:  # noqa: ARG001 - who may
    """Redis and whether it keeps jobs safely, workers and what they can do, the queue, limits."""
    return as_json(await read(house))


async def read(house: Services) -> System:
    """All of it. Raises StoreUnavailable."""
    store = house.store
    fitness, workers, jobs, queue, now, webhooks = await asyncio.gather(
        house.fitness(),
        store.workers(),
        store.counts(),
        store.queue_depth(),
        store.now(),
        undelivered(store),
    )
    return System(
        version=version("fettle"),
        environment=str(house.settings.env),
        redis=_redis(fitness),
        workers=[_worker(facts, now) for facts in workers],
        jobs={str(status): count for status, count in jobs.items()},
        queue={str(priority): count for priority, count in queue.items()},
        webhooks=webhooks,
        models=list(house.settings.models),
        limits=_limits(house.settings),
    )


def _redis(fitness: Fitness) -> RedisState:
    findings = [Finding.model_validate(asdict(finding)) for finding in fitness.findings]
    return RedisState(server=fitness.server, version=fitness.version, findings=findings)


def _worker(facts: Mapping[str, Any], now: int) -> Worker:
    seen = facts["seen_at"]
    ago = max(now - seen, 0) / 1000
    return Worker(**{**facts, "seen_at": iso(seen), "seen_seconds": ago})


def _limits(settings: ApiSettings) -> dict[str, Any]:
    return {
        "max_body_bytes": settings.max_body_bytes,
        "max_files": settings.max_files,
        "max_files_bytes": settings.max_files_bytes,
        "max_timeout_seconds": settings.max_timeout_seconds,
        "worker_seen_seconds": settings.worker_seen_seconds,
        "rate_limit": settings.rate_limit,
        "max_job_cost_usd": settings.max_job_cost_usd and f"{settings.max_job_cost_usd:f}",
        "max_job_tokens": settings.max_job_tokens,
    }
