"""The outbox of the webhook, and decisions as auditors read them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.schemas.wire import ResponseModel, Time


class Delivery(ResponseModel):
    """A message that has not arrived."""

    id: str = Field(description="the same at every try, as the header webhook-id")
    type: str
    tenant: str
    job_id: str
    at: Time
    tries: int
    error: str = Field(description="why the last try did not bring it")
    due_at: Time | None = Field(description="when it is tried again; of a dead one, since when")
    data: dict[str, Any]


class DeliveryList(ResponseModel):
    """What waits, the next first, and what is tried no more, the newest first; 100 of each."""

    waiting: list[Delivery]
    waiting_total: int
    dead: list[Delivery]
    dead_total: int
