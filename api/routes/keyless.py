"""Routes without a key: health, metrics for Prometheus, the explanation of each problem."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from api import problems
from api.http.answers import as_json
from api.openapi import refusals
from api.problems import RefusedRequest
from api.routes.webhooks import undelivered
from api.schemas.deployment import Health
from api.schemas.problem import ProblemKind
from api.services import Services, ServicesDep
from jobs.errors import StoreUnavailable
from jobs.model.credentials import OPERATOR
from jobs.model.spec import Priority

router = APIRouter(tags=["system"])


@router.get(
    "/healthz",
    operation_id="check_alive",
    response_model=Health,
    summary="Alive?",
    responses=refusals(problems.INVALID),
)
async def healthz(request: Request) -> Response:
    """The process answers. Redis and workers are not checked: see /readyz."""
    return as_json(Health(status="alive", version=request.app.version))


@router.get(
    "/readyz",
    operation_id="check_ready",
    response_model=Health,
    summary="Ready?",
    responses=refusals(problems.NOT_READY, problems.INVALID),
)
async def readyz(request: Request, services: ServicesDep) -> Response:
    """Redis takes writes and the artifact store keeps bytes, so jobs can be accepted, read and
    reviewed; else 503.

    Workers and the broker are not checked: a job can wait for them, and traffic must not depend on
    them. GET /system lists the workers, and GET /metrics has their number.
    """
    dependencies = services.dependencies
    faults = await asyncio.gather(dependencies.redis_fault(), dependencies.storage_fault())
    if missing := [fault for fault in faults if fault]:
        detail, more = "; ".join(missing), {"missing": missing}
        raise RefusedRequest(problems.NOT_READY, detail, more, {"Retry-After": "5"})
    return as_json(Health(status="ready", version=request.app.version))


@router.get(
    "/metrics",
    operation_id="read_metrics",
    summary="Metrics for Prometheus",
    response_class=PlainTextResponse,
    responses=refusals(problems.INVALID),
)
async def metrics(services: ServicesDep) -> Response:
    """Jobs by status, waiting jobs and the longest wait by priority, Redis' memory, workers,
    webhooks, requests and latency by route; whether Redis, broker and artifact store work.

    Needs no key: these are counts and times over all tenants, without any job's content.
    """
    store, dependencies = services.store, services.dependencies
    services.metrics.set_faults(
        *await asyncio.gather(
            dependencies.redis_fault(),
            dependencies.broker_fault(),
            dependencies.storage_fault(),
        )
    )
    try:
        jobs, queue, memory, workers, webhooks, longest = await asyncio.gather(
            store.counts(),
            store.queue_depth(),
            store.system_load(OPERATOR),
            store.workers(),
            undelivered(store),
            _longest_waits(services),
        )
    except StoreUnavailable:
        services.metrics.set_unreachable()
    else:
        services.metrics.set_state(jobs, queue, memory, len(workers), webhooks)
        services.metrics.set_waits(longest)
    return Response(services.metrics.text(), media_type=CONTENT_TYPE_LATEST)


async def _longest_waits(services: Services) -> Mapping[Priority, float]:
    """Seconds by priority; empty if the broker, which may be a separate server, does not answer."""
    try:
        return await services.waiting.longest()
    except StoreUnavailable:
        return {}


@router.get(
    "/problems/{name}",
    operation_id="explain_problem",
    response_model=ProblemKind,
    summary="Explain a problem",
    responses=refusals(problems.NOT_FOUND, problems.INVALID),
)
async def problem(name: str) -> Response:
    """The meaning of a problem's `type`. Needs no key."""
    kind = problems.KINDS.get(name)
    if kind is None:
        raise RefusedRequest(problems.NOT_FOUND, "there is no such type of problem")
    return as_json(kind.to_schema())
