"""The backends that an attack is tried on, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from drills.attacks.attack import LIMITS
from sandbox.protocol import Sandbox
from settings import sandbox as settings_of
from settings.sandbox import SandboxSettings
from worker.adapters import backend as workers

SANDBOXES = 2
NAMES = tuple(each.value for each in settings_of.Backend)


@dataclass(frozen=True, slots=True)
class Backend:
    """How to make one; each call makes a new one, which its caller closes."""

    name: str
    make: Callable[[], Sandbox]


def backend(name: str) -> Backend:
    """The backend `name`, one of `NAMES`, as a worker with this environment has it."""
    settings = SandboxSettings(sandbox=settings_of.Backend(name), sandbox_rooms=SANDBOXES)
    return Backend(name, lambda: workers.backend(settings, ready_for=LIMITS))
