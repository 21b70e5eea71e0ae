"""A temporary service without workers: the jobs are written directly."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.services import BaseServices, base_services
from cli.local.deployment import Deployment
from settings.client import sealed


@dataclass(frozen=True, slots=True)
class Target:
    """The started service."""

    url: str
    key: str = field(repr=False)
    redis_url: str
    data: Path


@contextmanager
def started() -> Iterator[Target]:
    """Redis that syncs each write, and one API process. Raises CliError where they cannot run."""
    with base_services("pages") as below:
        yield _start(below)


def _start(below: BaseServices) -> Target:
    key = secrets.token_urlsafe(24)
    env = {**below.env, "FETTLE_API_KEY": key, "FETTLE_RATE_LIMIT": "1000000/minute"}
    api = below.answering(Deployment(below.port, sealed(env)).api())
    return Target(api.url, key, below.redis.url, below.data)
