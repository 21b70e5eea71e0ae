"""From settings to the backend that runs code. Light to import: drills and benches use it too."""

from __future__ import annotations

from sandbox.local import LocalSandbox
from sandbox.protocol import Limits, Sandbox
from settings.sandbox import SandboxSettings


def backend(settings: SandboxSettings) -> Sandbox:
    """The backend that FETTLE_SANDBOX names; there is no other to fall back to."""
    return LocalSandbox(settings.sandbox_python, pool_size=settings.sandbox_rooms)


def limits(settings: SandboxSettings) -> Limits:
    """What one run may use."""
    return Limits(
        wall_seconds=settings.run_seconds,
        cpu_seconds=settings.run_cpu_seconds,
        memory_bytes=settings.run_memory_bytes,
        processes=settings.run_processes,
        workspace_bytes=settings.workspace_bytes,
        output_bytes=settings.run_output_bytes,
    )
