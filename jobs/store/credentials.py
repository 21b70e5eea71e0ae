"""Credentials: API keys, and the limits and webhooks of tenants, in plain Redis.

fettle:key:{digest}  hash  id, name, person, tenant, scopes, created_at, created_by,
                           created_by_key, expires_at, revoked_at, max_cost_usd_per_day,
                           max_tokens_per_day
fettle:keys          hash  id -> digest
fettle:key-names     hash  tenant:name of the keys that are not revoked -> id
fettle:key-uses      hash  id -> the time (ms) of the last use, at most USE_SECONDS late
fettle:tenant:{t}    hash  max_cost_usd_per_day, max_tokens_per_day
fettle:tenants       set   names of the tenants that have limits
fettle:webhooks:{t}  hash  id -> a webhook (JSON), see jobs.store.webhooks
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from redis.asyncio import Redis

from jobs.audit import entries
from jobs.audit.entries import Actor, EntryKind, NewEntry
from jobs.errors import StoreUnavailable
from jobs.model.codec import dump
from jobs.model.credentials import Credential, Scope, TenantLimits, sort_by_age
from jobs.model.people import KeyRing
from jobs.redis import keys
from jobs.redis.connection import Clock, RedisCommand, await_redis, decode_hash
from jobs.redis.keys import PREFIX
from jobs.store.audit import append_entries
from jobs.store.commit import AtomicStep, Commit, field_is, size_is
from jobs.store.webhooks import MOST_WEBHOOKS, Webhook

DIGESTS = PREFIX + "keys"
KEY_NAMES = PREFIX + "key-names"
NUMBERS = ("created_at", "expires_at", "revoked_at", "max_tokens_per_day")
"""The fields of a key that are numbers."""
USES = PREFIX + "key-uses"
USE_SECONDS = 60.0
"""A process records the use of a key again after this time."""


class Credentials:
    """The API keys, and the limits and webhooks of tenants. The caller closes the client.

    The step of each write also appends its entry to the audit log.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._commit = Commit(redis)
        self._ring = KeyRing(())
        self._ring_size = 0
        self._clock = Clock(redis)
        self._recorded: dict[str, float] = {}
        """When this process recorded the use of a key, by its id."""

    async def add(self, credential: Credential, digest: str, creator: str = "") -> bool:
        """Store a new key under the digest of its secret. `creator`: the person who makes it.

        Returns False, and stores nothing, if a key of the tenant that is not revoked has the same
        name, ignoring case: names sign decisions.
        """
        pairs = [text for pair in _fields(credential).items() for text in pair]
        commands = (
            ("HSET", KEY_NAMES, credential.signature, credential.id),
            ("HSET", DIGESTS, credential.id, digest),
            ("HSET", _key(digest), *pairs),
            *append_entries([entries.entry_of_new_key(credential, creator)]),
        )
        name_is_free = field_is(KEY_NAMES, credential.signature, "")
        return await self._commit.apply(AtomicStep(guards=(name_is_free,), commands=commands))

    async def find(self, digest: str) -> Credential | None:
        """The key with this digest, also if it is revoked."""
        stored = await await_redis(self._redis.hgetall(_key(digest)))
        return _read(stored) if stored else None

    async def get(self, key_id: str) -> Credential | None:
        """The key with this id, also if it is revoked."""
        digest = await self._digest(key_id)
        return await self.find(digest) if digest else None

    async def list_all(self) -> Sequence[Credential]:
        """All keys of all tenants, oldest first, revoked keys included."""
        digests = await await_redis(self._redis.hvals(DIGESTS))
        async with self._redis.pipeline(transaction=False) as pipe:
            for digest in digests:
                pipe.hgetall(_key(digest.decode()))
            hashes = await await_redis(pipe.execute())
        return sort_by_age(_read(stored) for stored in hashes if stored)

    async def record_use(self, key_id: str) -> None:
        """Record that a key is in use. If Redis does not take it, a later use is recorded."""
        if time.monotonic() - self._recorded.get(key_id, float("-inf")) < USE_SECONDS:
            return
        self._recorded[key_id] = time.monotonic()
        with contextlib.suppress(StoreUnavailable):
            now = await self._clock.now()
            await await_redis(self._redis.hset(USES, key_id, now))

    async def uses(self) -> Mapping[str, int]:
        """The time (ms) of the last use of each key that was used, by its id."""
        texts = decode_hash(await await_redis(self._redis.hgetall(USES)))
        return {key_id: int(at) for key_id, at in texts.items()}

    async def ring(self) -> KeyRing:
        """All keys, with their persons and makers. They are read again only if a key was added:
        persons and makers never change, and no key is ever removed."""
        size = await await_redis(self._redis.hlen(DIGESTS))
        if size != self._ring_size:
            credentials = await self.list_all()
            self._ring, self._ring_size = KeyRing(tuple(credentials)), len(credentials)
        return self._ring

    async def revoke(self, key_id: str, at: int, actor: Actor) -> None:
        """Revoke a key for good, also if Redis is full. The time of its first revocation
        remains."""
        digest = await self._digest(key_id)
        credential = await self.find(digest) if digest else None
        if digest is None or credential is None:
            return
        commands = (
            ("HSET", _key(digest), "revoked_at", at),
            ("HDEL", KEY_NAMES, credential.signature),
            *append_entries([entries.entry_of_revocation(credential, actor)]),
        )
        is_active = field_is(_key(digest), "revoked_at", "")  # else another key may have its name
        step = AtomicStep(guards=(is_active,), commands=commands)
        await self._commit.apply_although_full(step)

    async def limit(self, key_id: str, limits: TenantLimits, actor: Actor) -> None:
        """Change the day limits of a key, also if Redis is full. An unknown key has no effect."""
        digest = await self._digest(key_id)
        credential = await self.find(digest) if digest else None
        if digest is None or credential is None:
            return
        entry = entries.entry_of_key_limits(credential, limits, actor)
        commands = (*_replace_limits(_key(digest), limits), *append_entries([entry]))
        await self._commit.apply_although_full(AtomicStep(commands=commands))

    async def tenants(self) -> Mapping[str, TenantLimits]:
        """The tenants with their own limits."""
        names = await await_redis(self._redis.smembers(keys.TENANTS))
        return {name: await self.tenant(name) for name in sorted(name.decode() for name in names)}

    async def tenant(self, name: str) -> TenantLimits:
        """The limits of one tenant."""
        stored = decode_hash(await await_redis(self._redis.hgetall(keys.tenant_limits(name))))
        tokens = stored.get("max_tokens_per_day")
        return TenantLimits(stored.get("max_cost_usd_per_day"), int(tokens) if tokens else None)

    async def limit_tenant(self, name: str, limits: TenantLimits, actor: Actor) -> None:
        """Change the day limits of a tenant, also if Redis is full."""
        entry = entries.entry_of_tenant_limits(name, limits, actor)
        commands = (
            ("SADD", keys.TENANTS, name),
            *_replace_limits(keys.tenant_limits(name), limits),
            *append_entries([entry]),
        )
        await self._commit.apply_although_full(AtomicStep(commands=commands))

    async def add_webhook(self, tenant: str, webhook: Webhook, actor: Actor) -> bool:
        """Add a webhook of a tenant. Returns False, and adds nothing, if the tenant already has
        `MOST_WEBHOOKS`."""
        name = keys.webhooks(tenant)
        entry = NewEntry(tenant, EntryKind.WEBHOOK_CREATED, actor, webhook.public_fields)
        commands = (("HSET", name, webhook.id, dump(asdict(webhook))), *append_entries([entry]))
        while (count := await await_redis(self._redis.hlen(name))) < MOST_WEBHOOKS:
            step = AtomicStep(guards=(size_is(name, count),), commands=commands)
            if await self._commit.apply(step):
                return True
        return False

    async def remove_webhook(self, tenant: str, webhook: Webhook, actor: Actor) -> None:
        """Remove a webhook of a tenant, also if Redis is full. Its messages are dropped."""
        name = keys.webhooks(tenant)
        entry = NewEntry(tenant, EntryKind.WEBHOOK_DELETED, actor, webhook.public_fields)
        commands = (("HDEL", name, webhook.id), *append_entries([entry]))
        await self._commit.apply_although_full(AtomicStep(commands=commands))

    async def _digest(self, key_id: str) -> str | None:
        digest = await await_redis(self._redis.hget(DIGESTS, key_id))
        return digest.decode() if digest else None


def _replace_limits(key: str, limits: TenantLimits) -> Iterator[RedisCommand]:
    for name, value in asdict(limits).items():
        yield ("HDEL", key, name) if value is None else ("HSET", key, name, str(value))


def _key(digest: str) -> str:
    return f"{PREFIX}key:{digest}"


def _fields(credential: Credential) -> dict[str, str]:
    fields = {**asdict(credential), "scopes": " ".join(credential.scopes)}
    return {name: str(value) for name, value in fields.items() if value is not None}


def _read(hash_fields: dict[bytes, bytes]) -> Credential:
    texts = decode_hash(hash_fields)
    values: dict[str, Any] = {
        field.name: texts[field.name] for field in fields(Credential) if field.name in texts
    }
    values |= {name: int(texts[name]) for name in NUMBERS if name in texts}
    return Credential(**{**values, "scopes": tuple(map(Scope, texts["scopes"].split()))})
