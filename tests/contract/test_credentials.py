"""API keys are stored, loaded and revoked."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from jobs.audit.entries import Actor
from jobs.model.credentials import (
    EVERY_SCOPE,
    Credential,
    Scope,
    TenantLimits,
    digest_secret,
    new_secret,
)
from jobs.store.credentials import Credentials
from jobs.store.redis_store import connect

ADA = Credential("k1", "ada", "acme", (Scope.READ, Scope.REVIEW), 1_000, "operator")
BOB = Credential("k2", "bob", "other", EVERY_SCOPE, 999)
ROOT = Actor("root", "k0", "Grace")


@pytest.fixture
async def credentials(redis_url):
    client = connect(redis_url, seconds=20)
    yield Credentials(client)
    await client.aclose()


async def test_a_key_is_loaded_by_its_digest_and_its_id(credentials):
    await credentials.add(ADA, digest_secret("s1"))
    assert await credentials.find(digest_secret("s1")) == ADA
    assert await credentials.get("k1") == ADA
    assert await credentials.find(digest_secret("s2")) is None
    assert await credentials.get("k2") is None


async def test_a_tenant_has_limits_that_can_be_changed(credentials):
    assert await credentials.tenant("acme") == TenantLimits()
    await credentials.limit_tenant("acme", TenantLimits("2.50", 1_000), ROOT)
    await credentials.limit_tenant("other", TenantLimits(None, 0), ROOT)
    assert await credentials.tenants() == {
        "acme": TenantLimits("2.50", 1_000),
        "other": TenantLimits(None, 0),
    }
    await credentials.limit_tenant("acme", TenantLimits(), ROOT)
    assert await credentials.tenant("acme") == TenantLimits()


async def test_keys_are_listed_oldest_first(credentials):
    assert list(await credentials.list_all()) == []
    await credentials.add(ADA, digest_secret("s1"))
    await credentials.add(BOB, digest_secret("s2"))
    assert list(await credentials.list_all()) == [BOB, ADA]


async def test_a_revoked_key_stays_on_record_with_its_first_time(credentials):
    await credentials.add(ADA, digest_secret("s1"))
    await credentials.revoke("k1", 2_000, ROOT)
    await credentials.revoke("k1", 3_000, ROOT)
    credential = await credentials.find(digest_secret("s1"))
    assert credential.revoked_at == 2_000
    assert not credential.is_valid(2_000)


async def test_a_key_is_valid_until_it_expires(credentials):
    await credentials.add(replace(ADA, expires_at=5_000), digest_secret("s1"))
    credential = await credentials.get("k1")
    assert (credential.is_valid(4_999), credential.is_valid(5_000)) == (True, False)
    assert ADA.is_valid(10**15)


async def test_the_last_use_of_a_key_is_recorded_once_a_minute(credentials, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("jobs.store.credentials.time", SimpleNamespace(monotonic=lambda: clock[0]))
    assert await credentials.uses() == {}
    times = []
    for delay in (0, 59, 60):
        clock[0] = 100 + delay
        await asyncio.sleep(0.002)
        await credentials.record_use("k1")
        times.append((await credentials.uses())["k1"])
    assert times[0] == times[1] < times[2]


async def test_no_secret_is_stored(redis_url):
    client = connect(redis_url, seconds=20)
    secret = new_secret()
    await Credentials(client).add(ADA, digest_secret(secret))
    reads = {
        b"hash": client.hgetall,
        b"set": client.smembers,
        b"list": lambda name: client.lrange(name, 0, -1),
    }
    names = await client.keys("*")
    assert names
    for name in names:
        stored = str(await reads[await client.type(name)](name))
        assert secret not in stored
        assert secret not in name.decode()
    await client.aclose()


async def test_two_active_keys_of_a_tenant_have_different_names(credentials):
    assert await credentials.add(ADA, digest_secret("s1"))
    twin = replace(ADA, id="k3", name="Ada")
    assert not await credentials.add(twin, digest_secret("s3"))
    assert await credentials.find(digest_secret("s3")) is None
    assert [key.id for key in await credentials.list_all()] == ["k1"]
    assert await credentials.add(replace(twin, id="k4", tenant="other"), digest_secret("s4"))


async def test_a_revoked_keys_name_is_free_again_once(credentials):
    await credentials.add(ADA, digest_secret("s1"))
    await credentials.revoke("k1", 2_000, ROOT)
    assert await credentials.add(replace(ADA, id="k3"), digest_secret("s3"))
    await credentials.revoke("k1", 3_000, ROOT)
    assert not await credentials.add(replace(ADA, id="k5"), digest_secret("s5"))


async def test_limits_are_stored_and_changed(credentials):
    limited = replace(ADA, max_cost_usd_per_day="2.50", max_tokens_per_day=0)
    await credentials.add(limited, digest_secret("s1"))
    assert await credentials.find(digest_secret("s1")) == limited
    await credentials.limit("k1", TenantLimits(None, 7), ROOT)
    assert await credentials.get("k1") == replace(ADA, max_tokens_per_day=7)
    await credentials.limit("k1", TenantLimits("0.1", None), ROOT)
    assert await credentials.get("k1") == replace(ADA, max_cost_usd_per_day="0.1")
    await credentials.limit("nobody", TenantLimits("1", 1), ROOT)
    assert list(await credentials.list_all()) == [replace(ADA, max_cost_usd_per_day="0.1")]
