"""How the engine of rooms that is set is named to a program that runs them."""

from __future__ import annotations

from settings.sandbox import SandboxSettings


def engine_flags(settings: SandboxSettings) -> list[str]:
    """What is set of it, as `sandbox.doctor` and `drills.attacks` take it."""
    told = {
        "--image": settings.sandbox_image,
        "--engine": settings.sandbox_engine,
        "--tls": settings.sandbox_engine_tls,
        "--runtime": settings.sandbox_runtime,
    }
    return [word for flag, value in told.items() if value for word in (flag, str(value))]
