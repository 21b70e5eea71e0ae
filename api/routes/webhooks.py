"""Webhooks of tenants, and messages that were not delivered."""

from __future__ import annotations

import asyncio
import base64
import secrets
from dataclasses import asdict
from typing import Annotated

import structlog
from fastapi import APIRouter, Path, Request, Response

from api import problems
from api.auth.caller import Admin, Operator, require_governor
from api.http.answers import as_json
from api.http.body import read_json
from api.http.field_errors import problem_of
from api.openapi import body_responses, responses, with_body
from api.problems import RefusedRequest
from api.schemas import patterns
from api.schemas.deployment import (
    Undelivered,
    Webhook,
    WebhookDelivery,
    WebhookDeliveryList,
    WebhookList,
    WebhookRequest,
)
from api.schemas.problem import FieldError
from api.services import ServicesDep
from jobs.audit.entries import Actor
from jobs.model.credentials import new_id
from jobs.store.redis_store import RedisStore
from jobs.store.webhooks import MOST_WEBHOOKS
from jobs.store.webhooks import Webhook as StoredWebhook
from jobs.transitions import change
from jobs.view.job import format_time
from settings.webhooks import PREFIX

SHOWN = 100
LOOKED_AT = 50
"""Waiting messages, by due time, that are searched for the oldest."""

log = structlog.get_logger(__name__)
router = APIRouter(tags=["system"])
Tenant = Annotated[str, Path(pattern=patterns.TENANT)]


@router.get(
    "/tenants/{tenant}/webhooks",
    operation_id="list_webhooks",
    response_model=WebhookList,
    summary="List the webhooks of a tenant",
    responses=responses(),
)
async def list_webhooks(tenant: Tenant, services: ServicesDep, caller: Admin) -> Response:
    """The webhooks of your tenant; for the operator, of any tenant."""
    require_governor(caller, tenant)
    webhooks = await services.store.webhooks.of_tenant(tenant)
    return as_json(
        WebhookList(webhooks=[Webhook(**webhook.public_fields) for webhook in webhooks.values()])
    )


@router.post(
    "/tenants/{tenant}/webhooks",
    operation_id="create_webhook",
    status_code=201,
    response_model=Webhook,
    summary="Send messages about a tenant's jobs to an address",
    responses=body_responses(),
    openapi_extra=with_body(WebhookRequest),
)
async def create(
    tenant: Tenant, request: Request, services: ServicesDep, caller: Admin
) -> Response:
    """The secret that signs the messages of the format `generic` is only in this answer.

    Only the operator's key may name a `mailto:` address, or an address of an intranet (with
    `FETTLE_WEBHOOK_PRIVATE`).
    """
    require_governor(caller, tenant)
    body, _ = await read_json(request, WebhookRequest, services.settings)
    if body.format == "email" and not caller.operates:
        detail = "only the operator's key may send e-mail: ask the operator to make this webhook"
        raise RefusedRequest(problems.FORBIDDEN, detail)
    random = base64.b64encode(secrets.token_bytes(32)).decode()
    secret = f"{PREFIX}{random}" if body.format == "generic" else None
    webhook = StoredWebhook(
        **body.model_dump(),
        secrets=[secret] if secret else [],
        id=new_id(),
        by_operator=caller.operates,
    )
    if not await services.credentials.add_webhook(tenant, webhook, Actor.of(caller)):
        message = f"the tenant has {MOST_WEBHOOKS} webhooks: delete one of them"
        raise problem_of([FieldError(field="url", message=message)])
    log.info("webhook created", webhook=webhook.id, webhook_tenant=tenant)
    answer = Webhook(**webhook.public_fields, secret=secret)
    return as_json(answer, 201, {"Cache-Control": "no-store"})


@router.delete(
    "/tenants/{tenant}/webhooks/{webhook_id}",
    operation_id="delete_webhook",
    status_code=204,
    summary="Delete a webhook",
    response_class=Response,
    responses=responses(problems.NOT_FOUND),
)
async def delete(tenant: Tenant, webhook_id: str, services: ServicesDep, caller: Admin) -> Response:
    """Delete a webhook at once. Its messages that have not arrived are dropped."""
    require_governor(caller, tenant)
    webhook = (await services.store.webhooks.of_tenant(tenant)).get(webhook_id)
    if webhook is None:
        raise RefusedRequest(problems.NOT_FOUND, "the tenant has no webhook with this id")
    await services.credentials.remove_webhook(tenant, webhook, Actor.of(caller))
    log.info("webhook deleted", webhook=webhook_id, webhook_tenant=tenant)
    return Response(status_code=204)


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
    times = {"at": format_time(message.at), "due_at": format_time(message.due_at or None)}
    return WebhookDelivery(**{**asdict(message), **times})


async def undelivered(store: RedisStore) -> Undelivered:
    """Counts of the outbox. Raises StoreUnavailable."""
    (waiting, count), (_, dead), now = await asyncio.gather(
        store.outbox.waiting(LOOKED_AT), store.outbox.dead(1), store.now()
    )
    oldest = min((message.at for message in waiting), default=now)
    return Undelivered(dead=dead, waiting=count, oldest_seconds=max(now - oldest, 0) / 1000)
