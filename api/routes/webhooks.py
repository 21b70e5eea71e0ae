"""Webhook messages that were not delivered."""

from __future__ import annotations

import asyncio

import structlog
from fastapi import APIRouter, Response

from api import problems
from api.auth.caller import Operator
from api.http.answers import as_json
from api.openapi import responses
from api.problems import RefusedRequest
from api.schemas.deployment import Undelivered, WebhookDelivery, WebhookDeliveryList
from api.services import ServicesDep
from jobs.store.redis_store import RedisStore
from jobs.transitions import change
from jobs.view.job import format_time

SHOWN = 100
LOOKED_AT = 50
"""Waiting messages, by due time, that are searched for the oldest."""

log = structlog.get_logger(__name__)
router = APIRouter(tags=["system"])


@router.get(
    "/webhook-deliveries",
    operation_id="list_webhook_deliveries",
    response_model=WebhookDeliveryList,
    summary="List undelivered webhooks",
    responses=responses(),
)
async def listing(services: ServicesDep, caller: Operator) -> Response:  # noqa: ARG001 - who may
    """The undelivered messages of all tenants. Only the operator may see them."""
    waiting, waiting_total = await services.store.outbox.waiting(SHOWN)
    dead, dead_total = await services.store.outbox.dead(SHOWN)
    return as_json(
        WebhookDeliveryList(
            waiting=[_delivery_json(message) for message in waiting],
            waiting_total=waiting_total,
            dead=[_delivery_json(message) for message in dead],
            dead_total=dead_total,
        )
    )


@router.post(
    "/webhook-deliveries/{delivery_id}/retry",
    operation_id="retry_webhook_delivery",
    status_code=202,
    summary="Send a dead message again",
    response_class=Response,
    responses=responses(problems.NOT_FOUND),
)
async def retry(delivery_id: str, services: ServicesDep, caller: Operator) -> Response:  # noqa: ARG001
    """Start its delivery over, with the same id."""
    if not await services.store.outbox.requeue(delivery_id):
        raise RefusedRequest(
            problems.NOT_FOUND, "no dead message has this id: fettle webhooks lists the messages"
        )
    log.info("webhook sent again", delivery=delivery_id)
    return Response(status_code=202)


def _delivery_json(message: change.Delivery) -> WebhookDelivery:
    return WebhookDelivery(
        id=message.id,
        type=message.type,
        tenant=message.tenant,
        job_id=message.job_id,
        at=format_time(message.at) or "",
        tries=message.tries,
        error=message.error,
        due_at=format_time(message.due_at or None),
        data=dict(message.data),
    )


async def undelivered(store: RedisStore) -> Undelivered:
    """Counts of the outbox. Raises StoreUnavailable."""
    (waiting, count), (_, dead), now = await asyncio.gather(
        store.outbox.waiting(LOOKED_AT), store.outbox.dead(1), store.now()
    )
    oldest = min((message.at for message in waiting), default=now)
    return Undelivered(dead=dead, waiting=count, oldest_seconds=max(now - oldest, 0) / 1000)
