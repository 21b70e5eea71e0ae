"""The state of the deployment."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from api.schemas.wire import ResponseModel, Time


class Finding(ResponseModel):
    """One checked setting, and advice."""

    name: str
    value: str
    verdict: Literal["ok", "warn", "refuse", "unusable"]
    advice: str = ""


class RedisState(ResponseModel):
    """The Redis server of the job record."""

    server: str
    version: str
    findings: list[Finding]


class Worker(ResponseModel):
    """A worker's last announcement."""

    id: str
    host: str = ""
    version: str = ""
    release: str | None = Field(
        None,
        description="its version, and a digest of its code; another than the API's `release`: it "
        "runs other code. null: it runs a release that does not report it",
    )
    seen_at: Time
    seen_seconds: float = Field(description="seconds since then")


class Undelivered(ResponseModel):
    """Undelivered webhook messages."""

    dead: int = Field(description="given up; see GET /webhook-deliveries")
    waiting: int
    oldest_seconds: float = Field(description="age of the oldest waiting message; 0 without one")


class System(ResponseModel):
    """The deployment's state. Null fields are shown only to the operator."""

    version: str
    release: str = Field("", description="of the API: its version, and a digest of its code")
    environment: Literal["development", "production"]
    serving: bool = Field(description="whether a worker was seen lately")
    redis: RedisState | None = None
    workers: list[Worker] | None = None
    jobs: dict[str, int] = Field(
        description="jobs by status: your tenant's; for the operator those of all tenants"
    )
    queue: dict[str, int] | None = Field(None, description="waiting jobs by priority")
    webhooks: Undelivered | None = None
    models: list[str] = Field(description="the allow-list")
    limits: dict[str, Any]


class Health(ResponseModel):
    """Whether the service is alive or ready."""

    status: Literal["alive", "ready"]
    missing: list[str] = Field(default_factory=list)
