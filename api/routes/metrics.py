"""Metrics, for Prometheus. No key needed: there are counts and times in it, no job's content."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from api import problems
from api.documented import refusals
from api.services import ServicesDep
from api.undelivered import undelivered
from jobs.credentials import OPERATOR
from jobs.errors import StoreUnavailable

router = APIRouter(tags=["system"])


@router.get(
    "/metrics",
    operation_id="read_metrics",
    summary="Figures for Prometheus",
    response_class=PlainTextResponse,
    responses=refusals(problems.INVALID),
)
async def metrics(house: ServicesDep) -> Response:
    """Jobs by status, waiting jobs by priority, Redis' memory, workers, webhooks, requests and
    latency by route.

    Needs no key: these are counts and times over all tenants, with no job's content in them.
    """
    store = house.store
    try:
        jobs, queue, memory, workers, webhooks = await asyncio.gather(
            store.counts(),
            store.queue_depth(),
            store.load_now(OPERATOR),
            store.workers(),
            undelivered(store),
        )
    except StoreUnavailable:
        house.metrics.unreachable()
    else:
        house.metrics.observed(jobs, queue, memory, len(workers), webhooks)
    return Response(house.metrics.text(), media_type=CONTENT_TYPE_LATEST)
