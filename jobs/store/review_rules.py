"""The review rules that the operator sets at run time. The API knows the format of their text.

See ADR 96.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass

from redis.asyncio import Redis

from jobs.audit.entries import Actor, entry_of_review_rules
from jobs.redis.connection import Clock, await_redis, decode_hash
from jobs.redis.keys import REVIEW_RULES
from jobs.store.audit import append_entries
from jobs.store.commit import AtomicStep, Commit, field_is


@dataclass(frozen=True, slots=True)
class StoredRules:
    """The rules, and their last change."""

    text: str = ""
    """'': no rules."""
    digest: str = ""
    """The sha256 (hexadecimal) of the text; '': no rules."""
    at: int = 0
    """The time of the change, in ms by Redis' clock. 0: the rules were never set."""
    by: str = ""
    """The name of the key that made the change."""
    person: str = ""


class ReviewRulesStore(Clock):
    """A part of RedisStore. Raises StoreUnavailable."""

    def __init__(self, redis: Redis, commit: Commit) -> None:
        super().__init__(redis)
        self._commit = commit

    async def read(self) -> StoredRules:
        """The rules in force."""
        stored = decode_hash(await await_redis(self.redis.hgetall(REVIEW_RULES)))
        texts = {name: stored.get(name, "") for name in ("text", "digest", "by", "person")}
        return StoredRules(**texts, at=int(stored.get("at", 0)))

    async def replace(self, text: str, before: str, actor: Actor) -> bool:
        """Write the text in place of the text with the digest `before`, and an entry of the audit
        log. Writes nothing and returns False if another change came first."""
        digest = hashlib.sha256(text.encode()).hexdigest() if text else ""
        rules = StoredRules(text, digest, await self.now(), actor.name, actor.person)
        pairs = (part for pair in asdict(rules).items() for part in pair)
        commands = (
            ("HSET", REVIEW_RULES, *pairs),
            *append_entries([entry_of_review_rules(before, digest, actor)]),
        )
        guard = field_is(REVIEW_RULES, "digest", before)
        return await self._commit.apply_although_full(
            AtomicStep(guards=(guard,), commands=commands)
        )
