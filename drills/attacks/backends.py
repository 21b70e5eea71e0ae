"""The backends that an attack is tried on, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox.protocol import Sandbox
from settings import sandbox as settings_of
from settings.sandbox import SandboxSettings
from worker.adapters import backend as workers

SANDBOXES = 2


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """What backends need to know: `local` its interpreter, `docker` its image and engine (an
    address as in DOCKER_HOST, a folder of keys, a runtime). Empty: the backend's own default.
    """

    python: Path
    image: str = "fettle-sandbox"
    engine: str = ""
    tls: str = ""
    runtime: str = ""


@dataclass(frozen=True, slots=True)
class Backend:
    """How to make one; each call makes a new one, which its caller closes."""

    name: str
    options: BackendOptions
    make: Callable[[], Sandbox]


NAMES = ("local", "docker")


def backend(name: str, options: BackendOptions) -> Backend:
    """The backend `name`, one of `NAMES`, as a worker with these settings has it."""
    settings = SandboxSettings(
        sandbox=settings_of.Backend(name),
        sandbox_rooms=SANDBOXES,
        sandbox_python=options.python,
        sandbox_image=options.image,
        sandbox_engine=options.engine or None,
        sandbox_engine_tls=Path(options.tls) if options.tls else None,
        sandbox_runtime=options.runtime or None,
    )
    return Backend(name, options, lambda: workers.backend(settings))
