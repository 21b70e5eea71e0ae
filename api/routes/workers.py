"""Workers: have one stop in good order."""

from __future__ import annotations

import structlog
from fastapi import APIRouter, Response

from api import problems
from api.auth.caller import Operator
from api.openapi import responses
from api.problems import Refused
from api.services import ServicesDep

log = structlog.get_logger(__name__)
router = APIRouter(tags=["system"])


@router.post(
    "/workers/{worker}/drain",
    operation_id="drain_worker",
    status_code=202,
    summary="Have a worker stop in good order",
    response_class=Response,
    responses=responses(problems.NOT_FOUND),
)
async def drain(worker: str, house: ServicesDep, caller: Operator) -> Response:  # noqa: ARG001
    """By its next heartbeat, as at SIGTERM: it takes no more jobs, and hands on what it holds.

    `worker` is its `id` in GET /system. What supervises it may start another in its place.
    """
    if not await house.store.drains.ask(worker):
        raise Refused(problems.NOT_FOUND, "no worker of that name was seen lately")
    log.info("worker asked to drain", worker=worker)
    return Response(status_code=202)
