"""From settings to the equipment of a process."""

from __future__ import annotations

from agents.models import ModelOptions, ModelPool
from agents.ports import Bounds
from jobs.blobs import DirectoryBlobs
from jobs.redis_store import RedisStore
from sandbox.local import LocalSandbox
from sandbox.protocol import Limits, Sandbox, SandboxUnavailable
from settings.worker import WorkerSettings
from worker.equipment import Equipment
from worker.ports.models import GOOGLE_DEFAULT, GROQ_DEFAULT, ModelChoice

MOST_TRY_SECONDS = 60.0
"""One try of a model call; a provider that is silent for so long is asked again."""


def equip(settings: WorkerSettings, store: RedisStore) -> Equipment:
    """Everything a process needs to work on jobs. Raises SandboxUnavailable."""
    return Equipment(
        store=store,
        blobs=DirectoryBlobs(settings.blobs_dir),
        sandbox=sandbox(settings),
        models=ModelPool(model_options(settings)),
        choice=model_choice(settings),
        limits=limits(settings),
        bounds=Bounds(steps=settings.max_steps),
        max_job_tokens=settings.max_job_tokens,
    )


def sandbox(settings: WorkerSettings) -> Sandbox:
    """The backend that FETTLE_SANDBOX names; there is no other to fall back to."""
    if settings.sandbox != "local":
        raise SandboxUnavailable(f"FETTLE_SANDBOX={settings.sandbox} is unknown; set it to local")
    return LocalSandbox(settings.sandbox_python, pool_size=settings.sandbox_rooms)


def limits(settings: WorkerSettings) -> Limits:
    """What one run may use."""
    return Limits(
        wall_seconds=settings.run_seconds,
        cpu_seconds=settings.run_cpu_seconds,
        memory_bytes=settings.run_memory_bytes,
        processes=settings.run_processes,
        workspace_bytes=settings.workspace_bytes,
        output_bytes=settings.run_output_bytes,
    )


def model_options(settings: WorkerSettings) -> ModelOptions:
    """Keys, addresses and bounds of model calls."""
    keys = {"groq": settings.groq_api_key, "google_genai": settings.google_api_key}
    urls = {"groq": settings.groq_base_url, "google_genai": settings.google_base_url}
    return ModelOptions(
        api_keys={provider: key.get_secret_value() for provider, key in keys.items() if key},
        base_urls={provider: url for provider, url in urls.items() if url},
        timeout_seconds=min(MOST_TRY_SECONDS, settings.model_timeout_seconds),
        total_seconds=settings.model_timeout_seconds,
        max_retries=settings.model_max_retries,
        max_output_tokens=settings.max_output_tokens,
        recordings=settings.recordings_dir,
    )


def model_choice(settings: WorkerSettings) -> ModelChoice:
    """The default model is the one set, else that of the provider whose key there is."""
    default = settings.model
    if default is None and settings.groq_api_key:
        default = GROQ_DEFAULT
    if default is None and settings.google_api_key:
        default = GOOGLE_DEFAULT
    by_role = {
        "planner": settings.planner_model,
        "executor": settings.executor_model,
        "critic": settings.critic_model,
    }
    return ModelChoice(default, tuple((role, name) for role, name in by_role.items() if name))
