"""The state of the deployment."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from api.schemas.wire import ResponseModel, Time


class Finding(ResponseModel):
    """One thing looked at, and what to set."""

    name: str
    value: str
    verdict: Literal["ok", "warn", "refuse", "unusable"]
    advice: str = ""


class RedisState(ResponseModel):
    """The server that keeps the record."""

    server: str
    version: str
    findings: list[Finding]


class Worker(ResponseModel):
    """What a worker announced with its last heartbeat."""

    id: str
    seen_at: Time
    seen_seconds: float = Field(description="how long ago")


class Undelivered(ResponseModel):
    """Webhook messages that have not arrived."""

    dead: int = Field(description="tried no more; see GET /webhook-deliveries")
    waiting: int
    oldest_seconds: float = Field(description="how long the oldest waits; 0 where none does")


class System(ResponseModel):
    """What `fettle doctor` prints. What is null is shown to the operator alone."""

    version: str
    environment: Literal["development", "production"]
    serving: bool = Field(description="whether a worker was seen lately")
    redis: RedisState | None = None
    workers: list[Worker] | None = None
    jobs: dict[str, int] = Field(
        description="by status: your tenant's; to the operator those of all tenants"
    )
    queue: dict[str, int] | None = Field(None, description="waiting jobs by priority")
    webhooks: Undelivered | None = None
    models: list[str] = Field(description="the allow-list")
    limits: dict[str, Any]


class Health(ResponseModel):
    """Whether the service is alive, or ready, and what is missing."""

    status: Literal["alive", "ready"]
    missing: list[str] = Field(default_factory=list)
