"""What a worker publishes of itself: sandbox layers, models with keys, version."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import structlog

from sandbox.protocol import Sandbox, SandboxUnavailable
from settings.worker import WorkerSettings
from worker.fit import model_choice, model_options

log = structlog.get_logger("worker.capabilities")


async def announcement(settings: WorkerSettings, sandbox: Sandbox) -> Mapping[str, Any]:
    """The facts, with the sandbox really tried. A sandbox that cannot work is told, not hidden."""
    try:
        layers = await sandbox.check()
    except SandboxUnavailable as error:
        log.error("sandbox cannot work", why=str(error))
        told: dict[str, Any] = {"works": False, "why": str(error), "layers": []}
    else:
        shown = [{"name": x.name, "active": x.active, "detail": x.detail} for x in layers]
        told = {"works": True, "why": "", "layers": shown}
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "version": version("fettle"),
        "slots": settings.concurrency,
        "sandbox": {"backend": settings.sandbox, **told},
        "models": {
            "default": model_choice(settings).default,
            "keys": sorted(model_options(settings).api_keys),
            "recordings": sorted(path.stem for path in settings.recordings_dir.glob("*.yaml")),
        },
    }
