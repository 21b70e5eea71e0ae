"""Whether a Redis server can keep jobs: its settings, and advice. Pure except `check_redis`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from jobs.redis.connection import await_redis, translate_redis_errors

OLDEST = (7, 0)
"""Compared with `redis_version`, which Valkey also gives for compatibility, since its first release
7.2."""


class Severity(StrEnum):
    """The effect of a setting on jobs."""

    OK = "ok"
    WARN = "warn"
    """An operator should know it."""
    REFUSE = "refuse"
    """The server may lose jobs, so no process starts in production."""
    UNUSABLE = "unusable"
    """No process can work with the server."""


@dataclass(frozen=True, slots=True)
class RedisFinding:
    """One setting that was checked."""

    name: str
    value: str
    severity: Severity = Severity.OK
    advice: str = ""
    """What to change. '': the setting is good."""


@dataclass(frozen=True, slots=True)
class RedisReport:
    """The findings about one server."""

    server: str
    version: str
    findings: tuple[RedisFinding, ...]

    def with_severity(self, severity: Severity) -> Sequence[RedisFinding]:
        """The findings of this severity."""
        return [finding for finding in self.findings if finding.severity is severity]

    def complaints(self, *, production: bool) -> tuple[Sequence[str], bool]:
        """The bad settings as texts, and whether a process must not start on this server."""
        unusable = self.with_severity(Severity.UNUSABLE)
        serious = [*unusable, *self.with_severity(Severity.REFUSE)]
        texts = [
            f"Redis: {finding.name} is {finding.value}: {finding.advice}" for finding in serious
        ]
        return texts, bool(unusable) or (production and bool(serious))


async def check_redis(redis: Redis) -> RedisReport:
    """Read the server's settings, and assess them. Raises StoreUnavailable."""
    info = await await_redis(redis.info())
    config: Mapping[Any, Any] | None
    async with translate_redis_errors():
        try:
            config = await redis.config_get("append*")
        except ResponseError:  # hosted servers forbid or rename the command
            config = None
    return assess(info, _texts(config) if config is not None else None)


def assess(info: Mapping[str, Any], config: Mapping[str, str] | None) -> RedisReport:
    """The findings from the answers to INFO and CONFIG GET (None: not allowed)."""
    valkey = info.get("valkey_version")
    version = str(valkey or info.get("redis_version", "unknown"))
    server = "valkey" if valkey else "redis"
    return RedisReport(server, version, tuple(_findings(info, config or {})))


def _findings(info: Mapping[str, Any], config: Mapping[str, str]) -> Iterator[RedisFinding]:
    version = str(info.get("redis_version", "0"))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    advice = "use Redis 7.0 or newer, or Valkey 7.2 or newer"
    yield _finding("version", version, Severity.UNUSABLE, advice, is_good=numbers >= OLDEST)
    mode = str(info.get("redis_mode", "standalone"))
    advice = "a commit touches several keys: use one server, not Redis Cluster"
    yield _finding("mode", mode, Severity.REFUSE, advice, is_good=mode != "cluster")
    role = str(info.get("role", "master")).replace("slave", "replica")
    advice = "a replica takes no writes: name its primary"
    yield _finding("role", role, Severity.REFUSE, advice, is_good=role != "replica")
    appends = bool(info.get("aof_enabled"))
    advice = "jobs are lost when Redis restarts: set `appendonly yes`"
    yield _finding(
        "appendonly", "yes" if appends else "no", Severity.REFUSE, advice, is_good=appends
    )
    sync = config.get("appendfsync", "unknown")
    advice = "a power cut loses the last accepted jobs: set `appendfsync always`"
    if sync == "unknown":
        advice = "CONFIG GET is not allowed here, so this was not checked: it has to be `always`"
    yield _finding("appendfsync", sync, Severity.WARN, advice, is_good=sync == "always")
    written = str(info.get("aof_last_write_status", "ok"))
    advice = "Redis could not write its file: look at its log and its disk"
    yield _finding(
        "aof_last_write_status", written, Severity.REFUSE, advice, is_good=written == "ok"
    )
    yield _eviction(str(info.get("maxmemory_policy", "unknown")), int(info.get("maxmemory", 0)))


def _eviction(policy: str, maxmemory: int) -> RedisFinding:
    if policy == "unknown":
        advice = "the server does not report its policy: it has to be `maxmemory-policy noeviction`"
        return RedisFinding("maxmemory-policy", policy, Severity.WARN, advice)
    when = f"at {maxmemory} bytes " if maxmemory else ""
    advice = f"Redis may {when}throw jobs away: set `maxmemory-policy noeviction`"
    is_good = policy == "noeviction"
    return _finding("maxmemory-policy", policy, Severity.REFUSE, advice, is_good=is_good)


def _finding(
    name: str, value: str, severity: Severity, advice: str, *, is_good: bool
) -> RedisFinding:
    return RedisFinding(name, value) if is_good else RedisFinding(name, value, severity, advice)


def _texts(config: Mapping[Any, Any]) -> dict[str, str]:
    return {_text(key): _text(value) for key, value in config.items()}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
