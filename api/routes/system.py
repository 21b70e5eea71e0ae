"""The deployment's state, as `fettle doctor` prints it, and draining a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import structlog
from fastapi import APIRouter, Response

from api import problems
from api.auth.caller import Operator, Overseer
from api.http.answers import as_json
from api.openapi import responses
from api.problems import RefusedRequest
from api.routes.webhooks import undelivered
from api.schemas.deployment import Finding, RedisState, System
from api.services import Services, ServicesDep
from api.submission.validation import SETTING_OF_LIMIT
from jobs.model.credentials import Credential
from jobs.redis.check import RedisReport
from jobs.view.job import format_time
from settings.api import ApiSettings
from settings.starting.release import release

log = structlog.get_logger(__name__)
router = APIRouter(tags=["system"])


@router.get(
    "/system",
    operation_id="read_system",
    response_model=System,
    summary="The whole deployment",
    responses=responses(),
)
async def system(services: ServicesDep, caller: Overseer) -> Response:
    """The allowed models, limits, and your tenant's jobs. For the operator (an `admin` key of the
    tenant `default`), also the jobs of all tenants, the queue, Redis' configuration and the
    workers."""
    return as_json(await read(services, caller))


async def read(services: Services, caller: Credential) -> System:
    """The part that this caller may see. Raises StoreUnavailable."""
    store, settings = services.store, services.settings
    announced, now = await asyncio.gather(store.workers(), store.now())
    workers = [_worker(facts, now) for facts in announced]
    jobs = await (store.counts() if caller.operates else store.counts_of_tenant(caller.tenant))
    state: dict[str, Any] = {
        "version": version("fettle"),
        "release": release(),
        "environment": str(settings.env),
        "serving": any(
            worker["seen_seconds"] <= settings.worker_seen_seconds for worker in workers
        ),
        "jobs": {str(status): count for status, count in jobs.items()},
        "models": list(settings.models),
        "limits": _limits(settings),
        **(await _operators(services, workers) if caller.operates else {}),
    }
    # Not validated: a worker of another release may announce values of other types.
    return System.model_construct(**state)


async def _operators(services: Services, workers: list[dict[str, Any]]) -> dict[str, Any]:
    """The operator's part: hosts, processes, totals over all tenants."""
    fitness, queue, webhooks = await asyncio.gather(
        services.fitness(), services.store.queue_depth(), undelivered(services.store)
    )
    return {
        "redis": _redis(fitness),
        "workers": workers,
        "queue": {str(priority): count for priority, count in queue.items()},
        "webhooks": webhooks,
    }


def _redis(fitness: RedisReport) -> RedisState:
    findings = [
        Finding(
            name=finding.name,
            value=finding.value,
            verdict=str(finding.severity),
            advice=finding.advice,
        )
        for finding in fitness.findings
    ]
    return RedisState(server=fitness.server, version=fitness.version, findings=findings)


def _worker(facts: Mapping[str, Any], now: int) -> dict[str, Any]:
    seen_at = facts["seen_at"]
    seen_seconds = max(now - seen_at, 0) / 1000
    lacking = {"host": "", "version": "", "release": None}  # of older releases
    return {**lacking, **facts, "seen_at": format_time(seen_at), "seen_seconds": seen_seconds}


def _limits(settings: ApiSettings) -> dict[str, Any]:
    return {
        "max_body_bytes": settings.max_body_bytes,
        "max_files": settings.max_files,
        "max_files_bytes": settings.max_files_bytes,
        **{setting: getattr(settings, setting) for setting in SETTING_OF_LIMIT.values()},
        "worker_seen_seconds": settings.worker_seen_seconds,
        "rate_limit": settings.rate_limit,
        "max_job_cost_usd": settings.max_job_cost_usd and f"{settings.max_job_cost_usd:f}",
        "max_job_tokens": settings.max_job_tokens,
    }


@router.post(
    "/workers/{worker}/drain",
    operation_id="drain_worker",
    status_code=202,
    summary="Drain a worker",
    response_class=Response,
    responses=responses(problems.NOT_FOUND),
)
async def drain(worker: str, services: ServicesDep, caller: Operator) -> Response:  # noqa: ARG001
    """Stop a worker gracefully by its next heartbeat, as SIGTERM does: it takes no more jobs, and
    hands back those that it holds.

    `worker` is its `id` in GET /system. Its supervisor may start another in its place.
    """
    if not await services.store.request_drain(worker):
        raise RefusedRequest(
            problems.NOT_FOUND,
            "no worker with this id was seen lately: fettle doctor lists the workers",
        )
    log.info("worker asked to drain", worker=worker)
    return Response(status_code=202)
