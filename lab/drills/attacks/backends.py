"""The backends that the suite attacks, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.drills.attacks.attack import LIMITS
from sandbox.protocol import Sandbox
from settings import sandbox as settings_of
from settings.sandbox import SandboxSettings
from worker.adapters import backend as workers

SANDBOXES = 2
NAMES = tuple(backend.value for backend in settings_of.Backend)


@dataclass(frozen=True, slots=True)
class TriedBackend:
    """Makes a backend; each call makes a new backend, which the caller closes. `over` makes a
    backend over a directory of layers; None for a baseline, which has no layers.
    """

    name: str
    make: Callable[[], Sandbox]
    over: Callable[[Path], Sandbox] | None = None


def backend(name: str) -> TriedBackend:
    """The backend `name`, one of `NAMES`, as a worker with this environment has it."""
    settings = SandboxSettings(sandbox=settings_of.Backend(name), sandbox_rooms=SANDBOXES)
    return TriedBackend(
        name,
        lambda: workers.backend(settings, ready_for=LIMITS),
        lambda layers: workers.backend(settings, ready_for=LIMITS, layers=layers),
    )
