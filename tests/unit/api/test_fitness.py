"""The findings on the configuration of Redis, and their severity."""

from __future__ import annotations

import pytest

from jobs.redis.check import Severity, assess

GOOD = {
    "redis_version": "7.0.15",
    "redis_mode": "standalone",
    "role": "master",
    "aof_enabled": 1,
    "aof_last_write_status": "ok",
    "maxmemory_policy": "noeviction",
    "maxmemory": 0,
}


def verdict(name, config=None, **changed):
    fitness = assess({**GOOD, **changed}, {"appendfsync": "always"} if config is None else config)
    return {finding.name: finding for finding in fitness.findings}[name]


def test_the_shipped_configuration_is_accepted():
    fitness = assess(GOOD, {"appendfsync": "always"})
    assert (fitness.server, fitness.version) == ("redis", "7.0.15")
    assert {finding.severity for finding in fitness.findings} == {Severity.OK}
    assert not any(finding.advice for finding in fitness.findings)


@pytest.mark.parametrize(
    ("name", "info", "says"),
    [
        ("appendonly", {"aof_enabled": 0}, "appendonly yes"),
        ("maxmemory-policy", {"maxmemory_policy": "allkeys-lru"}, "noeviction"),
        ("maxmemory-policy", {"maxmemory_policy": "volatile-ttl", "maxmemory": 9}, "9 bytes"),
        ("mode", {"redis_mode": "cluster"}, "Cluster"),
        ("role", {"role": "slave"}, "primary"),
        ("aof_last_write_status", {"aof_last_write_status": "err"}, "disk"),
    ],
)
def test_a_configuration_that_may_lose_jobs_is_refused_with_the_remedy(name, info, says):
    finding = verdict(name, **info)
    assert finding.severity is Severity.REFUSE
    assert says in finding.advice


def test_slower_persistence_and_a_forbidden_config_command_are_warnings():
    assert verdict("appendfsync", {"appendfsync": "everysec"}).severity is Severity.WARN
    hidden = assess(GOOD, None)
    finding_of_fsync = next(finding for finding in hidden.findings if finding.name == "appendfsync")
    assert finding_of_fsync.severity is Severity.WARN
    assert "CONFIG GET is not allowed" in finding_of_fsync.advice


@pytest.mark.parametrize("version", ["6.0.16", "6.2.14"])
def test_a_server_too_old_for_the_scripts_is_refused(version):
    fitness = assess({**GOOD, "redis_version": version}, None)
    [complaint], fatal = fitness.complaints(production=False)
    assert fatal
    assert version in complaint
    assert "Redis 7.0 or newer, or Valkey 7.2 or newer" in complaint
