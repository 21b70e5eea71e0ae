"""Findings on this machine, if no service answers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict

from redis.asyncio import Redis

from cli.doctor import deployment
from cli.doctor.deployment import Finding, Rating
from cli.errors import CliError
from cli.local import redis_programs
from jobs.errors import StoreUnavailable
from jobs.redis.check import RedisReport, check_redis
from settings.client import model_keys
from settings.worker import WorkerSettings

SANDBOX_SECONDS = 60


def findings(settings: WorkerSettings) -> Iterator[Finding]:
    """Redis, sandbox and model keys, as a worker started here would find them."""
    yield from _redis(settings)
    yield from _sandbox(settings)
    recordings = {path.stem for path in settings.recordings_dir.glob("*.yaml")}
    yield from deployment.models(set(model_keys()), ", ".join(settings.model) or None, recordings)


def _redis(settings: WorkerSettings) -> Iterator[Finding]:
    if "redis_url" not in settings.model_fields_set:
        try:
            text = f"`fettle up` starts {redis_programs.choose(settings.data_dir / 'redis')}"
        except CliError as error:
            yield Finding("redis", Rating.BAD, str(error), error.next_step)
        else:
            yield Finding("redis", Rating.NOTE, text)
        return
    try:
        fit = asyncio.run(_examine(settings.redis_url.url))
    except StoreUnavailable as error:
        yield Finding("redis", Rating.BAD, str(error), "start it, or correct FETTLE_REDIS_URL")
    else:
        yield from deployment.redis(
            fit.server, fit.version, [asdict(finding) for finding in fit.findings]
        )


async def _examine(url: str) -> RedisReport:
    async with Redis.from_url(url, socket_timeout=5, socket_connect_timeout=2) as client:
        return await check_redis(client)


def _sandbox(settings: WorkerSettings) -> Iterator[Finding]:
    """Try the sandbox in a separate process."""
    argv = [sys.executable, "-P", "-m", "sandbox.doctor", "--json", *_flags(settings)]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=SANDBOX_SECONDS, check=False)
        answer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:
        yield Finding("sandbox", Rating.BAD, f"the check failed: {error}")
        return
    yield from deployment.sandbox(
        {
            "backend": answer["backend"],
            "works": answer["available"],
            "why": answer["reason"],
            "layers": answer["layers"],
        }
    )


def _flags(settings: WorkerSettings) -> list[str]:
    """The options of the configured backend."""
    flags = {
        "--backend": settings.sandbox,
        "--python": settings.sandbox_python,
        "--image": settings.sandbox_image,
        "--engine": settings.sandbox_engine,
        "--tls": settings.sandbox_engine_tls,
        "--runtime": settings.sandbox_runtime,
    }
    return [word for flag, value in flags.items() if value for word in (flag, str(value))]
