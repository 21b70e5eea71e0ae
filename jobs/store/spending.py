"""Spending: the charges of jobs, the accounts of their budgets, and the counts of a day.

`jobs.store.commit` has the commands that post a charge and settle a reservation. lua/reserve.lua
describes the accounts.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence

from redis.asyncio import Redis

from jobs.budgets import DAY_MS, DAYS_KEPT, Amount, BudgetShortfall, ReservationRequest, Spent
from jobs.counting import count_charges, day_of
from jobs.errors import Contended, StaleEpoch
from jobs.redis import keys
from jobs.redis.connection import Argument, Clock, await_redis, read_script
from jobs.redis.keys import JobKeys
from jobs.store.commit import (
    AtomicStep,
    Commit,
    add_counts,
    amount_args,
    field_is,
    post_charge,
    settle,
)
from jobs.store.types import Charge, Loaded
from jobs.transitions.change import Counts

CHARGE_TRIES = 20
_ACCOUNTS: Mapping[str, Callable[[str, str], str]] = {
    "key": keys.spend_of_key,
    "tenant": keys.spend_of_tenant,
}


class Charges:
    """Posts and lists charges. `load` reads a job's record: see RedisStore."""

    def __init__(
        self, redis: Redis, commit: Commit, load: Callable[[str], Awaitable[Loaded | None]]
    ) -> None:
        self._redis = redis
        self._commit = commit
        self._load = load

    async def post(self, job_id: str, charges: Sequence[Charge]) -> None:
        """Post the charges that are not on record. Posts no charge if the job was removed."""
        for charge in charges:
            await self._post(JobKeys(job_id), charge)

    async def _post(self, job: JobKeys, charge: Charge) -> None:
        """Post one charge. If the job is final, the charge counts on the present day. If it is not,
        the change that ends the job counts it, so the job must not end in between."""
        commands = tuple(post_charge(job, charge))
        for _ in range(CHARGE_TRIES):
            if (loaded := await self._load(job.id)) is None:
                return  # the job was removed: a charge would stay in Redis for ever
            same_status = field_is(job.record, "status", str(loaded.record.status))
            if loaded.record.status.final:
                day = day_of(loaded.now)
                counts = add_counts(loaded.record.tenant, day, count_charges([charge]))
                is_new = field_is(job.charges, charge.call, "")
                step = AtomicStep(job, (same_status, is_new), commands=(*commands, *counts))
                if await self._commit.apply_although_full(step):
                    return
            if await self._commit.apply_although_full(
                AtomicStep(job, (same_status,), commands=commands)
            ):
                return
        raise Contended(f"job {job.id} kept changing")

    async def of(self, job_id: str) -> Sequence[Charge]:
        """All charges of a job."""
        return read_charges(await await_redis(self._redis.hgetall(JobKeys(job_id).charges)))


def read_charges(fields: Mapping[bytes, bytes]) -> list[Charge]:
    """The charges that the hash of a job holds."""
    return [Charge(call.decode(), *json.loads(body)) for call, body in fields.items()]


class Budgets(Clock):
    """The accounts of jobs, keys and tenants. Raises StoreUnavailable."""

    def __init__(self, redis: Redis, commit: Commit) -> None:
        super().__init__(redis)
        self._commit = commit
        self._reserve = redis.register_script(read_script("reserve"))

    async def reserve(
        self, job_id: str, epoch: int, request: ReservationRequest
    ) -> BudgetShortfall | None:
        """Reserve the most that a call can cost, in the job's account and in the accounts of its
        day; or return the account that has too little, and reserve nothing.

        One atomic step. Redis' clock gives the day (UTC). A second request with the same id changes
        nothing. Raises StaleEpoch if the job does not run under this epoch.
        """
        job = JobKeys(job_id)
        args: list[Argument] = [epoch, request.id, request.most.cost, request.most.tokens]
        args += [*amount_args(request.job), DAYS_KEPT * DAY_MS // 1000]
        for day in request.days:
            args += [day.owner, _ACCOUNTS[day.owner](day.name, ""), *amount_args(day.cap)]
        answer = await self._commit.run_replicated(self._reserve, [job.record, job.spend], args)
        if not answer:
            return None
        owner, *details = (part.decode() for part in answer)
        if owner == "stale":
            raise StaleEpoch(job_id, epoch)
        unit, used, reserved = details
        return request.shortfall(owner, unit, int(used), int(reserved))

    async def release(self, job_id: str, reservation: str) -> None:
        """Release the reservation of a call that cost nothing. A settled reservation does not
        change."""
        job = JobKeys(job_id)
        await self._commit.apply(AtomicStep(job, commands=(settle(job, reservation, Spent(0, 0)),)))

    async def of_keys_today(self, key_ids: Sequence[str]) -> Sequence[Amount]:
        """The amount spent for the jobs of each API key since midnight UTC; open reservations count
        in full."""
        day = await self._today()
        return await self._read([keys.spend_of_key(key_id, day) for key_id in key_ids])

    async def day_of_key(self, key_id: str) -> tuple[Amount, int]:
        """The amount spent for the jobs of an API key since midnight UTC, without open
        reservations; and the number of its jobs that are queued or running."""
        account = keys.spend_of_key(key_id, await self._today())
        fields = ["cost", "open_cost", "tokens", "open_tokens"]
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.hmget(account, fields)
            pipe.hget(keys.UNFINISHED, key_id)
            spent, unfinished = await await_redis(pipe.execute())
        cost, open_cost, tokens, open_tokens = (int(amount or 0) for amount in spent)
        return Amount(cost - open_cost, tokens - open_tokens), max(int(unfinished or 0), 0)

    async def of_tenant_today(self, tenant: str) -> Amount:
        """The amount spent for a tenant's jobs since midnight UTC; open reservations count in
        full."""
        [amount] = await self._read([keys.spend_of_tenant(tenant, await self._today())])
        return amount

    async def _today(self) -> str:
        return str(await self.now() // DAY_MS)

    async def _read(self, accounts: Sequence[str]) -> Sequence[Amount]:
        async with self.redis.pipeline(transaction=False) as pipe:
            for account in accounts:
                pipe.hmget(account, ["cost", "tokens"])
            amounts = await await_redis(pipe.execute())
        return [Amount(int(cost or 0), int(tokens or 0)) for cost, tokens in amounts]


class DayCounts:
    """The counts of a tenant's days (see jobs.counting). Commits add to them."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def days(self, tenant: str, days: Sequence[str]) -> Sequence[Counts]:
        """The counts of each of these days, as 2026-11-22."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for day in days:
                pipe.hgetall(keys.day_counts(tenant, day))
            hashes = await await_redis(pipe.execute())
        return [{name.decode(): int(count) for name, count in day.items()} for day in hashes]
