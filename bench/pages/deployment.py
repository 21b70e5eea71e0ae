"""A throw-away service without workers: what is looked at is put on record directly."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from bench.ground import Ground, ground
from cli import ports
from cli.deployment import Deployment
from settings.children import sealed


@dataclass(frozen=True, slots=True)
class House:
    """What was started."""

    url: str
    key: str = field(repr=False)
    redis_url: str
    data: Path


@contextmanager
def started() -> Iterator[House]:
    """Redis that syncs each write, and one API process. Raises CliError where they cannot run."""
    with ground("pages") as below:
        yield _start(below)


def _start(below: Ground) -> House:
    url, key = f"http://{ports.LOOPBACK}:{below.port}", secrets.token_urlsafe(24)
    env = {**below.env, "FETTLE_API_KEY": key, "FETTLE_RATE_LIMIT": "1000000/minute"}
    api = below.start(Deployment(below.port, sealed(env)).api())
    for _ in below.patience(api, title="the API cannot work here"):
        if _answers(url):
            break
        time.sleep(0.05)
    return House(url, key, below.redis.url, below.data)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=2.0, trust_env=False).is_success
    except httpx.TransportError:
        return False
