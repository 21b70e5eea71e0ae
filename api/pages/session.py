"""Sessions of signed-in browsers, as signed cookies; and one-time sign-in links.

The first process that needs the signing secret makes it and stores it in Redis, so that all API
processes share it and a restart signs nobody out. The cookie names a key, never its secret: a
revoked key is signed out with its next request. It has the time of the sign-in by Redis' clock: the
clocks of API machines may differ, and decide nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, cast

from itsdangerous import BadData, Signer, URLSafeSerializer
from redis.asyncio import Redis

from jobs.model.credentials import digest_secret
from jobs.redis import keys
from jobs.redis.connection import Clock, UrgentCommands, await_redis, to_ms

COOKIE = "fettle_session"
LINK_SECONDS = 15 * 60


@dataclass(frozen=True, slots=True)
class Session:
    """A key's id, the stamp it had (see `api.auth.caller.stamp_of`), and the id of this sign-in."""

    key_id: str
    stamp: str
    nonce: str

    @classmethod
    def begin(cls, key_id: str, stamp: str) -> Session:
        """A new sign-in."""
        return cls(key_id, stamp, secrets.token_urlsafe(12))


class Sessions(Clock):
    """Signs, reads and ends sessions. Raises StoreUnavailable."""

    def __init__(self, redis: Redis, seconds: int) -> None:
        super().__init__(redis)
        self._urgently = UrgentCommands(redis)  # these writes succeed even if Redis is full
        self.seconds = seconds
        self._secret = ""

    async def write(self, session: Session) -> str:
        """The cookie's value: the session begins now."""
        fields = [session.key_id, session.stamp, session.nonce, await self.now()]
        return (await self._serializer()).dumps(fields)

    async def read(self, cookie: str) -> Session | None:
        """The session of a cookie; None if it is forged or too old, or its session has ended."""
        try:
            *fields, started_at = (await self._serializer()).loads(cookie)
        except BadData:
            return None
        session = Session(*fields)
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.exists(keys.ended_session(session.nonce))
            time, is_ended = await await_redis(pipe.execute())
        too_old = to_ms(*time) - started_at >= self.seconds * 1000
        return None if is_ended or too_old else session

    async def end(self, session: Session) -> None:
        """Sign out; copies of the cookie become invalid, too."""
        key = keys.ended_session(session.nonce)
        await await_redis(self._urgently([("SET", key, "", "EX", self.seconds)]))

    async def form_token(self, session: Session) -> str:
        """The token that every form of this session has to send."""
        return Signer(await self._key(), salt="form").get_signature(session.nonce).decode()

    async def create_link(self, key_id: str, stamp: str) -> str:
        """The token of a link that signs in once, within `LINK_SECONDS`."""
        token = secrets.token_urlsafe(24)
        link = keys.sign_in_link(digest_secret(token))
        fields = json.dumps([key_id, stamp])
        await await_redis(self._urgently([("SET", link, fields, "EX", LINK_SECONDS)]))
        return token

    async def find_link_session(self, token: str) -> Session | None:
        """The session that a link would begin; the link stays valid."""
        link = keys.sign_in_link(digest_secret(token))
        fields = await await_redis(cast("Awaitable[Any]", self.redis.get(link)))
        return Session.begin(*json.loads(fields)) if fields else None

    async def use_link(self, token: str) -> Session | None:
        """The session that a link begins; None if the link was used or is too old."""
        link = keys.sign_in_link(digest_secret(token))
        fields = await await_redis(cast("Awaitable[Any]", self.redis.getdel(link)))
        return Session.begin(*json.loads(fields)) if fields else None

    async def _serializer(self) -> URLSafeSerializer:
        # Cookies of release 0.1.0 have other fields, and the salt "session".
        return URLSafeSerializer(await self._key(), salt="session by Redis' clock")

    async def _key(self) -> str:
        if not self._secret:
            new_secret = secrets.token_urlsafe(32)
            await await_redis(self._urgently([("SET", keys.PAGES_SECRET, new_secret, "NX")]))
            secret = await await_redis(cast("Awaitable[Any]", self.redis.get(keys.PAGES_SECRET)))
            self._secret = secret.decode()
        return self._secret
