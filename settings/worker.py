"""Settings of a worker."""

from __future__ import annotations

from pathlib import Path

from pydantic import AliasChoices, Field, SecretStr

from settings.base import StoreSettings

MIB = 1024 * 1024
REPOSITORY = Path(__file__).resolve().parent.parent


def sandbox_python() -> Path:
    """The interpreter that `make install` makes for the sandbox."""
    return REPOSITORY / ".venv" / "sandbox" / "bin" / "python"


class WorkerSettings(StoreSettings):
    """Sizes in bytes, times in seconds."""

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
    model_timeout_seconds: float = Field(
        120.0, gt=0, description="bound on one model call, with its tries"
    )
    model_max_retries: int = Field(2, ge=0, description="tries after the first, per model call")
    max_output_tokens: int = Field(2_048, gt=0, description="output tokens of one model call")
    max_steps: int = Field(25, gt=0, description="model calls of one revision")
    max_job_tokens: int = Field(2_000_000, gt=0, description="tokens a job may spend in all")

    concurrency: int = Field(32, gt=0, description="jobs a worker process holds at once")
    lease_seconds: float = Field(
        15.0, gt=0, description="a silent worker's job is taken back after"
    )
    heartbeat_seconds: float = Field(5.0, gt=0, description="how often leases are renewed")
    sweep_seconds: float = Field(2.0, gt=0, description="how often due jobs are looked for")
    retry_seconds: float = Field(
        5.0, gt=0, description="rest of a job whose model or sandbox was away; doubled each time"
    )
    drain_seconds: float = Field(20.0, gt=0, description="how long a stopping worker may take")

    sandbox: str = Field("local", description="backend that runs code: local")
    sandbox_python: Path = Field(
        default_factory=sandbox_python, description="interpreter inside the sandbox"
    )
    sandbox_rooms: int = Field(2, ge=0, description="rooms kept ready")
    run_seconds: float = Field(15.0, gt=0, description="wall time of one run")
    run_cpu_seconds: int = Field(20, gt=0, description="CPU time of one run")
    run_memory_bytes: int = Field(512 * MIB, gt=0, description="memory of one run")
    run_processes: int = Field(64, gt=0, description="processes and threads of one run")
    run_output_bytes: int = Field(64 * 1024, gt=0, description="output kept of one run")
    workspace_bytes: int = Field(64 * MIB, gt=0, description="a workspace's bytes together")
