"""Health: alive, ready. No key needed; no content told."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api import problems
from api.http.answers import as_json
from api.openapi import refusals
from api.problems import Refused
from api.schemas.system import Health
from api.services import ServicesDep
from jobs.errors import StoreUnavailable

router = APIRouter(tags=["system"])


@router.get(
    "/healthz",
    operation_id="check_alive",
    response_model=Health,
    summary="Alive?",
    responses=refusals(problems.INVALID),
)
async def healthz() -> Response:
    """The process answers. Says nothing of Redis or workers: see /readyz."""
    return as_json(Health(status="alive"))


@router.get(
    "/readyz",
    operation_id="check_ready",
    response_model=Health,
    summary="Ready?",
    responses=refusals(problems.NOT_READY, problems.INVALID),
)
async def readyz(house: ServicesDep) -> Response:
    """Redis answers, so that jobs can be accepted, read and reviewed; else 503.

    Workers do not count: a job waits for one, and what is sent here must not depend on it. GET
    /system lists them, and GET /metrics has their number.
    """
    try:
        await house.store.now()
    except StoreUnavailable:
        missing = "Redis does not answer"
        more = {"missing": [missing]}
        raise Refused(problems.NOT_READY, missing, more, {"Retry-After": "5"}) from None
    return as_json(Health(status="ready"))
