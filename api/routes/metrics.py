"""Metrics, for Prometheus. No key needed: there are counts and times in it, no job's content."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from api import problems
from api.openapi import refusals
from api.routes.undelivered import undelivered
from api.services import Services, ServicesDep
from jobs.credentials import OPERATOR
from jobs.errors import StoreUnavailable
from jobs.spec import Priority

router = APIRouter(tags=["system"])


@router.get(
    "/metrics",
    operation_id="read_metrics",
    summary="Figures for Prometheus",
    response_class=PlainTextResponse,
    responses=refusals(problems.INVALID),
)
async def metrics(house: ServicesDep) -> Response:
    """Jobs by status, waiting jobs and the longest wait by priority, Redis' memory, workers,
    webhooks, requests and latency by route.

    Needs no key: these are counts and times over all tenants, with no job's content in them.
    """
    store = house.store
    try:
        jobs, queue, memory, workers, webhooks, longest = await asyncio.gather(
            store.counts(),
            store.queue_depth(),
            store.load_now(OPERATOR),
            store.workers(),
            undelivered(store),
            _longest_waits(house),
        )
    except StoreUnavailable:
        house.metrics.unreachable()
    else:
        house.metrics.observed(jobs, queue, memory, len(workers), webhooks)
        house.metrics.waited(longest)
    return Response(house.metrics.text(), media_type=CONTENT_TYPE_LATEST)


async def _longest_waits(house: Services) -> Mapping[Priority, float]:
    """By priority; empty where the broker, which may be another server, does not answer."""
    try:
        return await house.waiting.longest()
    except StoreUnavailable:
        return {}
