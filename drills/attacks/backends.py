"""The backends that an attack is tried on, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox.local import LocalSandbox
from sandbox.protocol import Sandbox


@dataclass(frozen=True, slots=True)
class Wanted:
    """What backends need to be told: `local` its interpreter, `docker` its image and engine (an
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
    wanted: Wanted
    make: Callable[[], Sandbox]


NAMES = ("local", "docker")


def backend(name: str, wanted: Wanted) -> Backend:
    """The backend `name`, one of `NAMES`."""
    if name == "local":
        return Backend(name, wanted, lambda: LocalSandbox(wanted.python, pool_size=2))
    docker = importlib.import_module("sandbox.docker")
    return Backend(
        name,
        wanted,
        lambda: docker.DockerSandbox(
            wanted.image,
            engine=wanted.engine or None,
            tls=Path(wanted.tls) if wanted.tls else None,
            runtime=wanted.runtime or None,
            pool_size=2,
        ),
    )
