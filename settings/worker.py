"""Settings of a worker."""

from __future__ import annotations

from pathlib import Path

from pydantic import AliasChoices, Field, SecretStr

from settings.base import StoreSettings
from settings.sandbox import REPOSITORY, SandboxSettings


class WorkerSettings(StoreSettings, SandboxSettings):
    """Times in seconds."""

    model: str | None = Field(
        None, description="default model, provider:model; else by which provider has a key"
    )
    planner_model: str | None = Field(None, description="model of the planner, if another")
    executor_model: str | None = Field(None, description="model of the executor, if another")
    critic_model: str | None = Field(None, description="model of the critic, if another")
    groq_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("GROQ_API_KEY"), description="key for Groq"
    )
    groq_base_url: str | None = Field(None, description="another address for Groq's API")
    google_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("GOOGLE_API_KEY"), description="key for Gemini"
    )
    google_base_url: str | None = Field(None, description="another address for Gemini's API")
    recordings_dir: Path = Field(
        REPOSITORY / "agents" / "recordings", description="where recording:NAME is looked up"
    )
    record: Path | None = Field(
        None,
        description="directory where the model's side of every job is written down, a file a job; "
        "`recording:NAME` plays it",
    )
    model_timeout_seconds: float = Field(
        120.0, gt=0, description="bound on one model call, with its tries"
    )
    model_max_retries: int = Field(2, ge=0, description="tries after the first, per model call")
    max_output_tokens: int = Field(2_048, gt=0, description="output tokens of one model call")
    max_steps: int = Field(25, gt=0, description="model calls of one revision")
    max_job_tokens: int = Field(2_000_000, gt=0, description="tokens a job may spend in all")

    concurrency: int = Field(32, gt=0, description="jobs a worker process holds at once")
    runs_at_once: int = Field(
        8, gt=0, description="runs of code that a worker process lets go on at once; others wait"
    )
    lease_seconds: float = Field(
        15.0, gt=0, description="a silent worker's job is taken back after"
    )
    heartbeat_seconds: float = Field(5.0, gt=0, description="how often leases are renewed")
    sweep_seconds: float = Field(2.0, gt=0, description="how often due jobs are looked for")
    retry_seconds: float = Field(
        5.0, gt=0, description="rest of a job whose model or sandbox was away; doubled each time"
    )
    retention_days: float = Field(
        30.0,
        gt=0,
        description="how long a finished job is kept with its events and files",
    )
    blob_grace_seconds: float = Field(
        86_400.0,
        gt=0,
        description="how long bytes stay that no job refers to; longer than any attempt may take",
    )
    retention_sweep_seconds: float = Field(
        60.0, gt=0, description="how often one worker looks for what may be removed"
    )
    drain_seconds: float = Field(20.0, gt=0, description="how long a stopping worker may take")
