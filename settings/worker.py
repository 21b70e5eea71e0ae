"""Settings of a worker.

See ADR 13.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from settings.audit import AuditSettings
from settings.base import Environment, FleetSettings, StoreSettings
from settings.models import ModelSettings, RoutingSettings
from settings.money import MoneySettings
from settings.providers import RateSettings
from settings.reading.addresses import ListenHost
from settings.repositories import RepositorySettings
from settings.sandbox import REPOSITORY, Backend, SandboxSettings
from settings.tools import ToolSettings
from settings.webhooks import WebhookSettings


class WorkerSettings(
    StoreSettings,
    SandboxSettings,
    ModelSettings,
    RoutingSettings,
    MoneySettings,
    RateSettings,
    ToolSettings,
    RepositorySettings,
    WebhookSettings,
    AuditSettings,
    FleetSettings,
):
    """Times in seconds."""

    recordings_dir: Path = Field(
        REPOSITORY / "agents" / "recordings", description="where recording:NAME is looked up"
    )
    record: Path | None = Field(
        None,
        description="directory for a recording of every job, one file a job; `recording:NAME` "
        "plays it",
    )
    max_steps: int = Field(25, gt=0, description="model calls of one revision")
    critic_calls: int = Field(
        6,
        ge=0,
        le=50,
        description="calls of one critique that read, search or run the work; 0: the critic judges "
        "only its request",
    )
    parallel_steps: int = Field(
        3,
        gt=0,
        description="steps of a plan that run side by side, at most, in a job that asks for it; "
        "1: none",
    )

    mutations: int = Field(
        20,
        ge=0,
        description="small changes of a job's Python code, at most, that are tried after each"
        " verification that passes, to see whether it notices them; 0: none",
    )

    concurrency: int = Field(
        32,
        gt=0,
        le=1_000,
        description="jobs that a worker process holds at once; it has 1,000 connections to "
        "Redis, and as many to a provider",
    )
    runs_at_once: int = Field(
        8, gt=0, description="runs of code that a worker process makes at once; others wait"
    )
    stuck_seconds: float = Field(
        30.0,
        gt=0,
        description="a worker whose event loop does not answer for this long ends itself; the "
        "default is two leases",
    )
    patience_seconds: float = Field(
        30.0,
        gt=0,
        description="how long each read and write of a job waits for a Redis that is away or full"
        " before the worker returns the job to the queue; also how long a starting worker waits"
        " for Redis before it ends with exit code 1",
    )
    worker_metrics_port: int | None = Field(
        None,
        ge=0,
        le=65_535,
        description="port for `/metrics`, `/healthz` and `/readyz` of a worker, without a key; "
        "unset: none. 0: a free one, which the worker logs, for several workers on a machine",
    )
    worker_metrics_host: ListenHost = Field(
        "127.0.0.1", description="address that this port is opened on; the image sets 0.0.0.0"
    )
    drain_seconds: float = Field(20.0, gt=0, description="how long a stopping worker may take")

    @model_validator(mode="after")
    def _heartbeats_fit(self) -> Self:
        heartbeat = self.heartbeat_seconds
        if self.worker_seen_seconds < 2 * heartbeat:
            raise ValueError(
                f"FETTLE_HEARTBEAT_SECONDS is {heartbeat:g} and FETTLE_WORKER_SEEN_SECONDS "
                f"{self.worker_seen_seconds:g}: a worker would count as stopped after one late "
                f"heartbeat. Set the heartbeat to {self.worker_seen_seconds / 2:g} or less"
            )
        if self.stuck_seconds < heartbeat:
            raise ValueError(
                f"FETTLE_STUCK_SECONDS is {self.stuck_seconds:g}, but a worker checks it at its "
                f"heartbeats, every {heartbeat:g} s (FETTLE_HEARTBEAT_SECONDS): set it to twice "
                f"the lease, {2 * self.lease_seconds:g}"
            )
        return self

    @model_validator(mode="after")
    def _bytes_outlast_attempts(self) -> Self:
        grace, longest = self.blob_grace_seconds, self.longest_attempt_seconds
        if grace <= longest and self.env is Environment.PRODUCTION:
            raise ValueError(
                f"FETTLE_BLOB_GRACE_SECONDS is {grace:g}, but an attempt may take {longest:g} s "
                "(FETTLE_MAX_TIMEOUT_SECONDS plus FETTLE_OVERDUE_SECONDS): files of a running job "
                f"could be removed. Set it to {2 * longest:g}"
            )
        return self

    @model_validator(mode="after")
    def _budgets_allow_a_call(self) -> Self:
        tokens, reply = self.max_job_tokens, self.least_reply_tokens
        if tokens is not None and tokens <= reply:
            raise ValueError(
                f"FETTLE_MAX_JOB_TOKENS is {tokens}, but each model call reserves at least {reply} "
                "tokens for its reply (8,192, or FETTLE_MAX_OUTPUT_TOKENS if that is less): no job "
                f"could make its first call. Set it to {10 * reply} or more"
            )
        return self

    @model_validator(mode="after")
    def _runtime_is_used(self) -> Self:
        if self.sandbox_runtime and self.sandbox is not Backend.DOCKER:
            raise ValueError(
                f"FETTLE_SANDBOX_RUNTIME is set, but FETTLE_SANDBOX={self.sandbox} does not use "
                "it: code would run without it. Set FETTLE_SANDBOX=docker, or unset the runtime"
            )
        return self

    @property
    def longest_attempt_seconds(self) -> float:
        """The longest time of an attempt. After it the lease is not renewed."""
        return self.max_timeout_seconds + self.overdue_seconds

    def directories(self) -> tuple[tuple[str, Path], ...]:
        """See StoreSettings. A worker keeps repositories in a directory, also with a bucket."""
        name = "FETTLE_DATA_DIR" if self.repo_dir is None else "FETTLE_REPO_DIR"
        return (*super().directories(), (name, self.repositories_dir))

    @property
    def repositories_dir(self) -> Path:
        """The folder of mirrors and checked-out trees of repositories."""
        return self.repo_dir or self.data_dir / "repositories"
