"""Health: alive, ready. No key needed; no content told."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api import problems
from api.answers import as_json
from api.documented import refusals
from api.problems import Refused
from api.schemas.system import Health
from api.services import Services, ServicesDep
from jobs.errors import StoreUnavailable

router = APIRouter(tags=["system"])


@router.get("/healthz", response_model=Health, summary="Alive?")
async def healthz() -> Response:
    """The process answers. Says nothing of Redis or workers: see /readyz."""
    return as_json(Health(status="alive"))


@router.get(
    "/readyz",
    response_model=Health,
    summary="Ready?",
    responses=refusals(problems.NOT_READY),
)
async def readyz(house: ServicesDep) -> Response:
    """Redis answers, and a worker was seen lately; else 503 with what is missing."""
    if missing := await _missing(house):
        more = {"missing": missing}
        detail = "; ".join(missing)
        raise Refused(problems.NOT_READY, detail, more, {"Retry-After": "5"})
    return as_json(Health(status="ready"))


async def _missing(house: Services) -> list[str]:
    lately = house.settings.worker_seen_seconds
    try:
        now = await house.store.now()
        seen = [worker["seen_at"] for worker in await house.store.workers()]
    except StoreUnavailable:
        return ["Redis does not answer"]
    if any(now - at <= lately * 1000 for at in seen):
        return []
    return [f"no worker was seen in the last {lately:g} s"]
