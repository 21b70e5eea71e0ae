"""Deployment: the programs of a running Fettle, and their environment."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from cli.local.processes import LocalProgram

DRAIN_SECONDS = 20.0
"""How long a worker takes to stop, at most, by default."""
HAND_BACK_SECONDS = 3.0
API_STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """One API with its workers. `env` is the children's whole environment."""

    port: int
    env: Mapping[str, str] = field(repr=False)

    def api(self) -> LocalProgram:
        """The HTTP front."""
        return LocalProgram("api", _python("api"), self.env, stop_seconds=API_STOP_SECONDS)

    def workers(self, count: int) -> list[LocalProgram]:
        """Worker processes, which may take a while to return their jobs."""
        names = ["worker"] if count == 1 else [f"worker {n}" for n in range(1, count + 1)]
        argv = _python("worker")
        drain = max(float(self.env["FETTLE_DRAIN_SECONDS"]), DRAIN_SECONDS)
        stop = drain + HAND_BACK_SECONDS
        return [LocalProgram(name, argv, self.env, stop_seconds=stop) for name in names]

    def flower(self, port: int, password: str) -> LocalProgram:
        """Flower on loopback, with a password. Secrets go by environment: argv is public."""
        env = {**self.env, "FETTLE_FLOWER_PORT": str(port), "FETTLE_FLOWER_PASSWORD": password}
        return LocalProgram("flower", _python("cli", "flower"), env)


def flower_installed() -> bool:
    """Whether the extra `flower` is installed."""
    return find_spec("flower") is not None


def environment(
    *,
    redis_url: str,
    broker_url: str,
    data_dir: str,
    host: str,
    port: int,
    drain_seconds: float = DRAIN_SECONDS,
) -> dict[str, str]:
    """The environment of every process of a deployment."""
    return {
        "FETTLE_REDIS_URL": redis_url,
        "FETTLE_BROKER_URL": broker_url,
        "FETTLE_DATA_DIR": data_dir,
        "FETTLE_HOST": host,
        "FETTLE_PORT": str(port),
        "FETTLE_DRAIN_SECONDS": f"{drain_seconds:g}",
        "PYTHONUNBUFFERED": "1",
    }


def _python(*module: str) -> tuple[str, ...]:
    # -P: a folder `api` or `worker` in the user's own project must not shadow Fettle's.
    return (sys.executable, "-P", "-m", *module)
