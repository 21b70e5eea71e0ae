"""Webhooks: what has not arrived."""

from __future__ import annotations

import structlog
from fastapi import APIRouter, Response

from api import problems
from api.auth.caller import Operator
from api.http.answers import as_json
from api.openapi import responses
from api.problems import Refused
from api.schemas.webhook import Delivery, DeliveryList
from api.services import ServicesDep
from jobs import delivery
from jobs.view import iso

SHOWN = 100

log = structlog.get_logger(__name__)
router = APIRouter(tags=["system"])


@router.get(
    "/webhooks",
    operation_id="list_webhooks",
    response_model=DeliveryList,
    summary="See the outbox",
    responses=responses(),
)
async def listing(house: ServicesDep, caller: Operator) -> Response:  # noqa: ARG001 - who may
    """The messages of every tenant that have not arrived: the operator's alone to see."""
    waiting, waiting_total = await house.store.outbox.waiting(SHOWN)
    dead, dead_total = await house.store.outbox.dead(SHOWN)
    return as_json(
        DeliveryList(
            waiting=[_told(each) for each in waiting],
            waiting_total=waiting_total,
            dead=[_told(each) for each in dead],
            dead_total=dead_total,
        )
    )


@router.post(
    "/webhooks/{delivery_id}/retry",
    operation_id="retry_webhook",
    status_code=202,
    summary="Send a dead message again",
    response_class=Response,
    responses=responses(problems.NOT_FOUND),
)
async def retry(delivery_id: str, house: ServicesDep, caller: Operator) -> Response:  # noqa: ARG001
    """It begins anew, under the same id."""
    if not await house.store.outbox.again(delivery_id):
        raise Refused(problems.NOT_FOUND, "there is no such dead message")
    log.info("webhook sent again", delivery=delivery_id)
    return Response(status_code=202)


def _told(each: delivery.Delivery) -> Delivery:
    return Delivery(
        id=each.id,
        type=each.type,
        tenant=each.tenant,
        job_id=each.job_id,
        at=iso(each.at) or "",
        tries=each.tries,
        error=each.error,
        due_at=iso(each.due_at or None),
        data=dict(each.data),
    )
