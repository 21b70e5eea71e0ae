"""The audit log in Redis: entries that a step appends, the sealer, reads, signatures, retention.

An entry is pending from the atomic step of its change until a sealer has moved it into the chain.
Redis runs the move as one step, so a crash between two steps neither loses nor doubles an entry.

See ADR 91.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from redis.asyncio import Redis

from jobs.audit.chain import Head, pending_body, read_line, seal_entries
from jobs.audit.entries import RETENTION, WORKER, EntryKind, NewEntry
from jobs.audit.signing import HeadClaim, sign_claim
from jobs.budgets import DAY_MS
from jobs.counting import day_of
from jobs.redis import keys
from jobs.redis.connection import (
    Clock,
    RedisCommand,
    await_redis,
    decode_hash,
    read_script,
    urgent_script,
)
from jobs.store.commit import AtomicStep, Commit, field_is
from jobs.store.outbox import HEAD_MESSAGE, enqueue, message_id
from jobs.store.webhooks import Webhooks
from jobs.transitions.change import Delivery
from jobs.view.job import format_time

ENTRIES_PER_STEP = 500
"""The entries that one step seals: this blocks Redis for about a millisecond."""
TRIMMED_PER_STEP = 10_000
"""The entries that one step removes: this blocks Redis for some milliseconds."""


@dataclass(frozen=True, slots=True)
class LogState:
    """The extent of a tenant's log."""

    head: Head
    first_seq: int
    """The oldest entry that is kept. 0: there is no entry."""
    signed_day: str
    """The last day on which a head was signed. '': never."""
    signed_seq: int
    """The entry that was signed then. 0: never."""
    trimmed_seq: str
    """The last entry that retention removed. '': it has removed none."""
    signed_trimmed_seq: str
    """`trimmed_seq`, when a head was signed last."""


def append_entries(entries: Iterable[NewEntry]) -> Iterator[RedisCommand]:
    """Append entries to the pending entries of their tenants."""
    for entry in entries:
        pending = keys.audit_pending(entry.tenant)
        yield ("AUDIT", pending, keys.AUDITED_TENANTS, entry.tenant, pending_body(entry))


class AuditLog(Clock):
    """The logs of all tenants. Raises StoreUnavailable. Writes work although Redis is full."""

    def __init__(self, redis: Redis, commit: Commit) -> None:
        super().__init__(redis)
        self._commit = commit
        self._seal = urgent_script(redis, read_script("seal"))

    async def append(self, *entries: NewEntry) -> None:
        """Append entries of acts that change nothing else in Redis."""
        await self._commit.apply_although_full(AtomicStep(commands=tuple(append_entries(entries))))

    async def tenants(self) -> Sequence[str]:
        """The tenants that have a log."""
        names = await await_redis(self.redis.smembers(keys.AUDITED_TENANTS))
        return sorted(name.decode() for name in names)

    async def tenants_to_seal(self) -> Sequence[str]:
        """The tenants that have pending entries."""
        tenants = await self.tenants()
        async with self.redis.pipeline(transaction=False) as pipe:
            for tenant in tenants:
                pipe.exists(keys.audit_pending(tenant))
            has_pending = await await_redis(pipe.execute())
        return [tenant for tenant, pending in zip(tenants, has_pending, strict=True) if pending]

    async def seal(self, tenant: str) -> None:
        """Seal the pending entries of a tenant. Several sealers may work at the same time."""
        names = [keys.audit_pending(tenant), keys.audit_log(tenant), keys.audit_head(tenant)]
        while True:
            head, pending = await self._read_pending(tenant)
            if not pending:
                return
            lines, new_head = seal_entries(head, tenant, pending)
            await await_redis(self._seal(keys=names, args=[head.seq, new_head.hash, *lines]))

    async def _read_pending(self, tenant: str) -> tuple[Head, Sequence[bytes]]:
        """The head, read before the pending entries: see lua/seal.lua."""
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.hgetall(keys.audit_head(tenant))
            pipe.lrange(keys.audit_pending(tenant), 0, ENTRIES_PER_STEP - 1)
            fields, pending = await await_redis(pipe.execute())
        return _head(decode_hash(fields)), pending

    async def state(self, tenant: str) -> LogState:
        """The extent of the log, without pending entries."""
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.zrange(keys.audit_log(tenant), 0, 0, withscores=True)
            pipe.hgetall(keys.audit_head(tenant))
            oldest, stored = await await_redis(pipe.execute())
        fields = decode_hash(stored)
        return LogState(
            head=_head(fields),
            first_seq=int(oldest[0][1]) if oldest else 0,
            signed_day=fields.get("signed_day", ""),
            signed_seq=int(fields.get("signed_seq", 0)),
            trimmed_seq=fields.get("trimmed_seq", ""),
            signed_trimmed_seq=fields.get("signed_trimmed_seq", ""),
        )

    async def read(self, tenant: str, after: int, limit: int) -> Sequence[bytes]:
        """The lines of up to `limit` sealed entries with a number above `after`, in order."""
        name = keys.audit_log(tenant)
        lines: Sequence[bytes] = await await_redis(
            self.redis.zrangebyscore(name, f"({after}", "+inf", start=0, num=limit)
        )
        return lines

    async def last_before(self, tenant: str, ms: int) -> int:
        """The number of the last entry before a time; the number before the oldest entry that is
        kept, if no entry is older.

        Entries have the times of Redis' clock in their order, so a binary search finds it.
        """
        state = await self.state(tenant)
        before, low, high = format_time(ms) or "", state.first_seq or 1, state.head.seq + 1
        middle = low  # of most logs, no entry is old enough to be trimmed
        while low < high:  # the first entry at or after the time is in [low, high]
            lines = await self.read(tenant, middle - 1, 1)
            if lines and read_line(lines[0])["at"] < before:
                low = middle + 1
            else:
                high = middle
            middle = (low + high) // 2
        return low - 1

    async def sign_head(self, tenant: str, key: Ed25519PrivateKey, *, webhook: bool) -> bool:
        """Sign the newest entry, once a day (UTC) and after a removal of old entries, if the log
        has grown; returns whether it did.

        The signature is an entry of the log, and also a message to the tenant's webhooks, and
        with `webhook` to the operator's. Neither exists without the other.
        """
        trimmed_seq = (await self.state(tenant)).trimmed_seq  # its record is sealed next
        await self.seal(tenant)
        state, now = await self.state(tenant), await self.now()
        day = day_of(now)
        known_seq = state.signed_seq + 1 if state.signed_seq else 0  # with the signature's entry
        is_signed = state.signed_day == day and state.signed_trimmed_seq == trimmed_seq
        if is_signed or state.head.seq <= known_seq:
            return False
        data = sign_claim(key, HeadClaim(tenant, day, state.head))
        message = Delivery(
            id=message_id(f"audit:{tenant}:{day}:{state.head.seq}"),
            type=HEAD_MESSAGE,
            tenant=tenant,
            job_id="",
            at=now,
            data={"tenant": tenant, **data},
        )
        name = keys.audit_head(tenant)
        messages = await Webhooks(self.redis).address([message], operator=webhook)
        commands = (
            *append_entries([NewEntry(tenant, EntryKind.HEAD_SIGNED, WORKER, data)]),
            ("HSET", name, "signed_day", day, "signed_seq", state.head.seq),
            ("HSET", name, "signed_trimmed_seq", trimmed_seq),
            *enqueue(messages),
        )
        guard = field_is(name, "signed_seq", state.signed_seq or "")
        return await self._commit.apply_although_full(
            AtomicStep(guards=(guard,), commands=commands)
        )

    async def trim(self, tenant: str, retention_ms: int) -> int:
        """Remove the entries that are older than `retention_ms`, by full days (UTC); returns their
        number. An entry of the log names the last removed entry, so that the log verifies."""
        removed_count = 0
        cutoff = (await self.now() - retention_ms) // DAY_MS * DAY_MS
        last_expired = await self.last_before(tenant, cutoff)
        while 0 < (state := await self.state(tenant)).first_seq <= last_expired:
            last = min(last_expired, state.first_seq + TRIMMED_PER_STEP - 1)
            if not await self._trim_to(tenant, state, last):
                break  # another worker trims
            removed_count += last - state.first_seq + 1
        return removed_count

    async def _trim_to(self, tenant: str, state: LogState, last: int) -> bool:
        """Returns whether it removed the entries; False: another worker has removed them."""
        lines = await self.read(tenant, last - 1, 1)
        if not lines:
            return False
        data = {"seq": last, "hash": read_line(lines[0])["hash"]}
        name = keys.audit_head(tenant)
        commands = (
            *append_entries([NewEntry(tenant, EntryKind.LOG_TRIMMED, RETENTION, data)]),
            ("ZREMRANGEBYSCORE", keys.audit_log(tenant), "-inf", last),
            ("HSET", name, "trimmed_seq", last),
        )
        guard = field_is(name, "trimmed_seq", state.trimmed_seq)
        return await self._commit.apply_although_full(
            AtomicStep(guards=(guard,), commands=commands)
        )


def _head(fields: Mapping[str, str]) -> Head:
    return Head(int(fields["seq"]), fields["hash"]) if "seq" in fields else Head()
