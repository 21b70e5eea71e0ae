"""The deployment in responses: the rules for all workers, its state, undelivered webhooks."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, with_config
from typing_extensions import TypedDict

from api.schemas.fields import RequestModel, ResponseModel, Time
from jobs.model.event_data import Usd


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


class SandboxLayer(TypedDict):
    """A layer of a sandbox's isolation."""

    name: str
    active: bool
    detail: str


class PartState(TypedDict):
    """Whether a part of a worker works; `layers` of the sandbox."""

    backend: str
    works: bool
    why: str | None
    layers: NotRequired[list[SandboxLayer]]


class WorkerRepositories(TypedDict, total=False):
    """Whether jobs on repositories work, and the hosts that a worker may use for them."""

    git: str | None
    works: bool
    why: str | None
    hosts: list[str]
    lacks: list[str]
    delivers: list[str]
    setups: list[str]


class WorkerModels(TypedDict, total=False):
    """The models of a worker; GET /models has more of them."""

    default: str | None
    keys: list[str]
    recordings: list[str]


class WorkerModelServer(TypedDict, total=False):
    """The server of a model, as a worker knows it."""

    context_tokens: Annotated[
        int | None,
        Field(description="tokens of a request with its reply, at most; null: not known"),
    ]
    error: Annotated[
        str | None,
        Field(description="the reason, with advice, if no server answers at the model's address"),
    ]


class WorkerFleet(TypedDict, total=False):
    """The version of the fleet's record, and the worker's own values that differ from it."""

    version: int
    ignored: dict[str, float]


@with_config(extra="allow")
class Worker(TypedDict):
    """A worker's last announcement. A worker of an older release announces fewer fields."""

    id: str
    host: str
    version: str
    release: Annotated[
        str | None,
        Field(
            description="its version, and a digest of its code; another than the API's `release`: "
            "it runs other code. null: it runs a release that does not report it",
        ),
    ]
    seen_at: Time
    seen_seconds: Annotated[float, Field(description="seconds since then")]
    busy: NotRequired[Annotated[int, Field(description="jobs that it holds")]]
    slots: NotRequired[Annotated[int, Field(description="jobs that it can hold")]]
    tools: NotRequired[list[str]]
    dropped_variables: NotRequired[list[str]]
    blob_grace_seconds: NotRequired[float]
    workspace_bytes: NotRequired[int]
    sandbox: NotRequired[PartState]
    storage: NotRequired[PartState]
    default_model: NotRequired[PartState]
    repositories: NotRequired[WorkerRepositories]
    models: NotRequired[WorkerModels]
    model_servers: NotRequired[
        Annotated[
            dict[str, WorkerModelServer],
            Field(description="by the names of the models that it has used or uses by default"),
        ]
    ]
    fleet: NotRequired[WorkerFleet]


class Undelivered(ResponseModel):
    """Undelivered webhook messages."""

    dead: int = Field(description="given up; see GET /webhook-deliveries")
    waiting: int
    oldest_seconds: float = Field(description="age of the oldest waiting message; 0 without one")


class WebhookDelivery(ResponseModel):
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


class WebhookDeliveryList(ResponseModel):
    """Waiting messages, the next first, and dead ones, the newest first; 100 of each."""

    waiting: list[WebhookDelivery]
    waiting_total: int
    dead: list[WebhookDelivery]
    dead_total: int


@with_config(extra="allow")
class Limits(TypedDict, total=False):
    """The limits of requests and jobs; null: none."""

    max_body_bytes: int
    max_files: int
    max_files_bytes: int
    max_timeout_seconds: float
    max_run_seconds: float
    max_run_memory_bytes: int
    max_job_steps: int
    worker_seen_seconds: float
    rate_limit: str
    max_job_cost_usd: Usd | None
    max_job_tokens: int | None


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
    limits: Limits


class Health(ResponseModel):
    """Whether the service is alive or ready."""

    status: Literal["alive", "ready"]
    missing: list[str] = Field(default_factory=list)
