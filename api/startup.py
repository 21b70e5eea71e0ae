"""Checks at start-up. Production refuses to start where development only warns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from api.services import Services
from jobs.errors import StoreUnavailable
from jobs.model.credentials import Scope
from jobs.redis.check import RedisReport, Severity
from settings.api import ApiSettings
from settings.base import DEVELOPMENT_KEY, Environment
from settings.starting.start import BAD_SETTINGS

log = structlog.get_logger(__name__)

WEAK = 24
PATIENCE_SECONDS = 20.0
"""A Redis that is starting too has this long to answer in production."""


class Unfit(Exception):
    """The settings or Redis are unfit; the message lists what to set. `exit_code` is BAD_SETTINGS
    for settings, and 1 if only Redis is unfit, because it may be repaired before the next start."""

    def __init__(self, of_settings: Sequence[str], of_redis: Sequence[str]) -> None:
        lines = "\n".join(f"  - {reason}" for reason in (*of_settings, *of_redis))
        super().__init__(f"fettle refuses to start:\n{lines}")
        self.exit_code = BAD_SETTINGS if of_settings else 1


async def check_fitness(services: Services) -> None:
    """Raise Unfit in production, and anywhere on a server that cannot be used; else warn."""
    production = services.settings.env is Environment.PRODUCTION
    of_settings, of_redis = list(key_reasons(services.settings)), list[str]()
    unusable = False
    fitness = await _fitness(services, PATIENCE_SECONDS if production else 0.0)
    if isinstance(fitness, StoreUnavailable):
        of_redis.append(f"Redis does not answer at FETTLE_REDIS_URL ({fitness})")
    else:
        complaints, unusable = fitness.complaints(production=False)
        of_redis += complaints
        for finding in fitness.with_severity(Severity.WARN):
            log.warning("redis setting", name=finding.name, value=finding.value, do=finding.advice)
        if production and services.settings.first_key() is None and not await _has_admin(services):
            of_settings.append(
                "there is no key: set FETTLE_API_KEY to a random one, which `openssl rand -hex 32` "
                "prints"
            )
    reasons = (*of_settings, *of_redis)
    if unusable or (reasons and production):
        raise Unfit(of_settings, of_redis)
    for reason in reasons:
        log.warning("unfit for production", reason=reason)


def key_reasons(settings: ApiSettings) -> Sequence[str]:
    """The faults of the configured key."""
    key = settings.first_key()
    if key is None:
        return []
    if key == DEVELOPMENT_KEY:
        return ["FETTLE_API_KEY is the development key, which everybody knows: set another"]
    if len(key) < WEAK:
        return [f"FETTLE_API_KEY has {len(key)} characters: set one of at least {WEAK}"]
    return []


async def _fitness(services: Services, patience: float) -> RedisReport | StoreUnavailable:
    """The report of Redis, or the reason for no answer, which is logged at once, before the
    wait."""
    loop = asyncio.get_running_loop()
    deadline, is_logged = loop.time() + patience, False
    while True:
        try:
            return await services.fitness()
        except StoreUnavailable as error:
            if not is_logged:
                then = f"waits for {patience:g} s" if patience else "starts, and answers with 503"
                log.warning("redis unreachable", error=str(error), then=then)
                is_logged = True
            if loop.time() >= deadline:
                return error
            await asyncio.sleep(0.5)


async def _has_admin(services: Services) -> bool:
    now, keys = await services.store.now(), await services.credentials.list_all()
    return any(key.is_valid(now) and key.may(Scope.ADMIN) for key in keys)
