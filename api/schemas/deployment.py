"""The deployment in responses: the rules for all workers, its state, webhooks."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Self

from pydantic import AfterValidator, Field, model_validator, with_config
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from api.schemas.fields import Label, RequestModel, ResponseModel, Time
from api.schemas.job_defaults import JobDefaults
from jobs.model.event_data.model_calls import Usd
from jobs.store.outbox import MessageType
from settings.reading.addresses import parse_destination
from settings.webhooks import FORMAT_RULE, WebhookFormat, fits


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
    settings: FleetValues = FleetValues()
    defaults: JobDefaults | None = Field(
        None, description="changes of the defaults for new jobs; a null removes a default"
    )
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
    values: dict[str, Any] = Field(description="rules by name, and all `defaults` if they changed")


class Fleet(ResponseModel):
    """The record that all workers follow."""

    version: int = Field(description="0: none is on record; the first worker makes it")
    settings: list[FleetSetting]
    defaults: dict[str, Any] = Field(description="the terms of new jobs that leave them out")
    changes: list[FleetChange] = Field(description="the last 100, newest first")


class Finding(ResponseModel):
    """A checked setting of Redis, with advice."""

    name: str = Field(description="the setting of Redis")
    value: str = Field(description="its value, as Redis reports it")
    verdict: Literal["ok", "warn", "refuse", "unusable"] = Field(
        description="`refuse`: not in production; `unusable`: Fettle cannot run on this server"
    )
    advice: str = Field("", description="the remedy")


class RedisState(ResponseModel):
    """The Redis server of the job record."""

    server: str = Field(description="Redis or Valkey")
    version: str
    findings: list[Finding]


class SandboxLayer(TypedDict):
    """A layer of a sandbox's isolation."""

    name: str
    active: Annotated[bool, Field(description="whether it isolates runs now")]
    detail: Annotated[str, Field(description="the mechanism, or the reason for its absence")]


class PartState(TypedDict):
    """The state of a part of a worker: its sandbox, its storage, its default model."""

    backend: str
    works: bool
    why: Annotated[str | None, Field(description="the fault; null: it works")]
    layers: NotRequired[Annotated[list[SandboxLayer], Field(description="only of the sandbox")]]


class WorkerRepositories(TypedDict, total=False):
    """Whether jobs on repositories work, and the hosts that a worker may use for them."""

    git: Annotated[str | None, Field(description="the version of git")]
    works: bool
    why: Annotated[str | None, Field(description="the fault; null: they work")]
    hosts: Annotated[list[str], Field(description="repositories may be fetched from these hosts")]
    lacks: Annotated[list[str], Field(description="hosts without a credential or a key")]
    delivers: Annotated[
        list[str], Field(description="approved changes may be pushed to these hosts")
    ]
    setups: Annotated[
        list[str], Field(description="dependencies may be installed from these hosts")
    ]


class WorkerModels(TypedDict, total=False):
    """The models of a worker; GET /models has more of them."""

    default: Annotated[
        str | None, Field(description="`provider:model`, with stand-ins after commas")
    ]
    keys: Annotated[list[str], Field(description="the providers that have a key")]
    recordings: Annotated[list[str], Field(description="names of recordings that can be played")]


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
    ignored: Annotated[dict[str, float], Field(description="by setting")]


@with_config(extra="allow")
class Worker(TypedDict):
    """A worker's last announcement. A worker of an older release announces fewer fields."""

    id: str
    host: str
    version: str
    release: Annotated[
        str | None,
        Field(
            description="its version, and a digest of its code. If it differs from the API's "
            "`release`, the worker runs other code. null: its release does not report it",
        ),
    ]
    seen_at: Time
    seen_seconds: Annotated[float, Field(description="seconds since then")]
    busy: NotRequired[Annotated[int, Field(description="jobs that it holds")]]
    slots: NotRequired[Annotated[int, Field(description="jobs that it can hold")]]
    tools: NotRequired[Annotated[list[str], Field(description="the tools of the executor")]]
    dropped_variables: NotRequired[
        Annotated[list[str], Field(description="variables of libraries that Fettle dropped")]
    ]
    blob_grace_seconds: NotRequired[
        Annotated[float, Field(description="see FETTLE_BLOB_GRACE_SECONDS")]
    ]
    workspace_bytes: NotRequired[Annotated[int, Field(description="see FETTLE_WORKSPACE_BYTES")]]
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

    dead: int = Field(description="not tried any more; see GET /webhook-deliveries")
    waiting: int = Field(description="tried again later")
    oldest_seconds: float = Field(description="age of the oldest waiting message; 0 without one")


class WebhookRequest(RequestModel):
    """The body of POST /tenants/{tenant}/webhooks."""

    url: Annotated[str, AfterValidator(parse_destination)] = Field(
        max_length=2_000, description="on the web; for the format `email`, mailto:NAME@HOST"
    )
    format: WebhookFormat = "generic"
    labels: list[Label] = Field(
        default=[], max_length=50, description="only jobs with one of these labels; empty: all"
    )
    events: list[MessageType] = Field(
        default=[], max_length=50, description="the types of messages; empty: all"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not fits(self.url, self.format):
            raise PydanticCustomError("format", "{rule}", {"rule": FORMAT_RULE})
        return self


class Webhook(ResponseModel):
    """An address that gets the messages about a tenant's jobs."""

    id: str
    address: str = Field(description="without its path, which may be a secret")
    format: str
    labels: list[str]
    events: list[str]
    secret: str | None = Field(None, description="signs the messages; only when it was created")


class WebhookList(ResponseModel):
    """The webhooks of a tenant."""

    webhooks: list[Webhook]


class WebhookDelivery(ResponseModel):
    """An undelivered message."""

    id: str = Field(description="the header webhook-id, the same at every try")
    type: str
    webhook: str = Field("", description="the tenant's webhook; empty: the operator's")
    tenant: str
    job_id: str
    at: Time
    tries: int
    error: str = Field(description="the reason for which the last try failed")
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
    version: str = Field(description="the version of Fettle, as in 0.3.0")
    missing: list[str] = Field(default_factory=list)
