"""Undelivered webhook messages."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.schemas.wire import ResponseModel, Time


class Delivery(ResponseModel):
    """An undelivered message."""

    id: str = Field(description="the header webhook-id, the same at every try")
    type: str
    tenant: str
    job_id: str
    at: Time
    tries: int
    error: str = Field(description="why the last try failed")
    due_at: Time | None = Field(description="the time of the next try; of a dead one, its end")
    data: dict[str, Any]


class DeliveryList(ResponseModel):
    """Waiting messages, the next first, and dead ones, the newest first; 100 of each."""

    waiting: list[Delivery]
    waiting_total: int
    dead: list[Delivery]
    dead_total: int
