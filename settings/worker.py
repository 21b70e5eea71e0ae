"""Settings of a worker."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from settings.base import StoreSettings
from settings.models import ModelSettings
from settings.money import MoneySettings
from settings.rates import RateSettings
from settings.routing import RoutingSettings
from settings.sandbox import REPOSITORY, SandboxSettings
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
    WebhookSettings,
):
    """Times in seconds."""

    recordings_dir: Path = Field(
        REPOSITORY / "agents" / "recordings", description="where recording:NAME is looked up"
    )
    record: Path | None = Field(
        None,
        description="directory where the model's side of every job is written down, a file a job; "
        "`recording:NAME` plays it",
    )
    max_steps: int = Field(25, gt=0, description="model calls of one revision")
    parallel_steps: int = Field(
        3,
        gt=0,
        description="steps of a plan that go side by side at most, in a job that wants it; 1: none",
    )

    concurrency: int = Field(32, gt=0, description="jobs a worker process holds at once")
    runs_at_once: int = Field(
        8, gt=0, description="runs of code that a worker process lets go on at once; others wait"
    )
    lease_seconds: float = Field(
        15.0, gt=0, description="a silent worker's job is taken back after"
    )
    heartbeat_seconds: float = Field(5.0, gt=0, description="how often leases are renewed")
    stuck_seconds: float = Field(
        30.0,
        gt=0,
        description="a worker whose event loop does not answer for so long ends itself; two leases",
    )
    overdue_seconds: float = Field(
        60.0,
        gt=0,
        description="so long after a job's `timeout_seconds` its lease is renewed no more, and the "
        "job is ended for its worker",
    )
    sweep_seconds: float = Field(2.0, gt=0, description="how often due jobs are looked for")
    retry_seconds: float = Field(
        5.0, gt=0, description="rest of a job whose model or sandbox was away; doubled each time"
    )
    patience_seconds: float = Field(
        30.0,
        gt=0,
        description="how long what a job has to write waits for a Redis that is away or full, "
        "before the job is handed back",
    )
    retention_days: float = Field(
        30.0,
        gt=0,
        description="how long a finished job is kept with its events and files",
    )
    blob_grace_seconds: float = Field(
        86_400.0,
        gt=0,
        description="how long bytes stay that no job refers to; longer than any attempt may "
        "take (`FETTLE_MAX_TIMEOUT_SECONDS` and `FETTLE_OVERDUE_SECONDS`), else a worker warns",
    )
    retention_sweep_seconds: float = Field(
        60.0, gt=0, description="how often one worker looks for what may be removed"
    )
    drain_seconds: float = Field(20.0, gt=0, description="how long a stopping worker may take")

    @property
    def longest_attempt_seconds(self) -> float:
        """After which no lease is renewed any more."""
        return self.max_timeout_seconds + self.overdue_seconds
