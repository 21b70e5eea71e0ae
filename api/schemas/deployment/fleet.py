"""The rules for all workers."""

from __future__ import annotations

from pydantic import Field

from api.schemas.wire import RequestModel, ResponseModel, Time


class FleetValues(RequestModel):
    """Rules to change; null leaves a rule unchanged. GET /fleet has the meaning of each."""

    lease_seconds: float | None = None
    heartbeat_seconds: float | None = None
    overdue_seconds: float | None = None
    sweep_seconds: float | None = None
    retries: int | None = None
    retry_seconds: float | None = None
    retry_longest_seconds: float | None = None
    retention_days: float | None = None
    blob_grace_seconds: float | None = None
    retention_sweep_seconds: float | None = None


class FleetRequest(RequestModel):
    """The body of PUT /fleet."""

    version: int = Field(ge=0, description="the version that the change is based on; 0: none")
    settings: FleetValues
    accept_removal: int = Field(
        0, ge=0, description="finished jobs that the change may remove at once, at most"
    )


class FleetSetting(ResponseModel):
    """A rule, its value and its meaning."""

    name: str
    value: float
    default: float
    description: str


class FleetChange(ResponseModel):
    """Who set which values, and when."""

    version: int
    at: Time
    by: str = Field(description="the name of a key, or the worker that made the first record")
    key_id: str = Field(description="the id of that key; empty: a worker's")
    values: dict[str, float]


class Fleet(ResponseModel):
    """The record that all workers follow."""

    version: int = Field(description="0: none is on record; the first worker makes it")
    settings: list[FleetSetting]
    changes: list[FleetChange] = Field(description="the last 100, newest first")
