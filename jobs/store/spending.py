"""Spending: what was paid for each job, and what it and its days may spend (lua/reserve.lua).

Commands for `lua/commit.lua` stand here beside the classes that read what they write.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from redis.asyncio import Redis

from jobs import counting
from jobs.budgets import DAY_MS, DAYS_KEPT, Amount, BudgetShortfall, Cap, ReservationRequest, Spent
from jobs.counting import day_of, paid
from jobs.errors import Contended, StaleEpoch
from jobs.model.codec import dump
from jobs.redis import keys
from jobs.redis.connection import Argument, Clock, Command, ask, lua
from jobs.redis.keys import JobKeys
from jobs.store.commit import Commit, Step, field_is
from jobs.store.types import Charge, Loaded
from jobs.transitions.change import Counts

CHARGE_TRIES = 20
_ACCOUNTS: Mapping[str, Callable[[str, str], str]] = {
    "key": keys.spend_of_key,
    "tenant": keys.spend_of_tenant,
}


class Charges:
    """Posts what was paid. `load` reads a job's record: see RedisStore."""

    def __init__(
        self, redis: Redis, commit: Commit, load: Callable[[str], Awaitable[Loaded | None]]
    ) -> None:
        self._redis = redis
        self._commit = commit
        self._load = load

    async def post(self, job_id: str, charges: Sequence[Charge]) -> None:
        """Those that are new; of a job that is gone none."""
        for charge in charges:
            await self._post(JobKeys(job_id), charge)

    async def _post(self, job: JobKeys, charge: Charge) -> None:
        """A charge that comes after the job's end counts on the day on which it comes. The end of a
        job counts the others, so the job must not end in between."""
        commands = tuple(charged(job, charge))
        for _ in range(CHARGE_TRIES):
            if (loaded := await self._load(job.id)) is None:
                return  # nothing would ever remove what is kept of it now
            stands = field_is(job.record, "status", str(loaded.record.status))
            if loaded.record.status.final:
                day = day_of(loaded.now)
                counts = count_commands(loaded.record.tenant, day, paid([charge]))
                is_new = field_is(job.charges, charge.call, "")
                step = Step(job, (stands, is_new), commands=(*commands, *counts))
                if await self._commit.apply_although_full(step):
                    return
            if await self._commit.apply_although_full(Step(job, (stands,), commands=commands)):
                return
        raise Contended(f"job {job.id} kept changing")

    async def of(self, job_id: str) -> Sequence[Charge]:
        """Everything that was paid for a job."""
        return listed(await ask(self._redis.hgetall(JobKeys(job_id).charges)))


def listed(posted: Mapping[bytes, bytes]) -> list[Charge]:
    """The charges of a hash."""
    return [Charge(call.decode(), *json.loads(body)) for call, body in posted.items()]


class Budgets(Clock):
    """Where spend is counted; `commit` is the store's own. Raises StoreUnavailable."""

    def __init__(self, redis: Redis, commit: Commit) -> None:
        super().__init__(redis)
        self._commit = commit
        self._reserve = redis.register_script(lua("reserve"))

    async def reserve(
        self, job_id: str, epoch: int, asking: ReservationRequest
    ) -> BudgetShortfall | None:
        """Reserve what a call can cost, in the job's account and in those of its day, or in none.

        One atomic step; the store's clock says which day (UTC) it is. The same id is the same
        reservation. Raises StaleEpoch where the job no longer runs under this epoch.
        """
        job = JobKeys(job_id)
        args: list[Argument] = [epoch, asking.id, asking.most.cost, asking.most.tokens]
        args += [*_pair(asking.job), DAYS_KEPT * DAY_MS // 1000]
        for day in asking.days:
            args += [day.whose, _ACCOUNTS[day.whose](day.name, ""), *_pair(day.cap)]
        answer = await self._commit.durably(self._reserve, [job.record, job.spend], args)
        if not answer:
            return None
        whose, *rest = (each.decode() for each in answer)
        if whose == "stale":
            raise StaleEpoch(job_id, epoch)
        what, used, aside = rest
        cap = getattr(asking.cap_of(whose), what)
        return BudgetShortfall(whose, what, cap, int(used), getattr(asking.most, what), int(aside))

    async def release(self, job_id: str, reservation: str) -> None:
        """Release the reservation of a call that cost nothing. A settled one stays settled."""
        job = JobKeys(job_id)
        await self._commit.apply(Step(job, commands=(settled(job, reservation, Spent(0, 0)),)))

    async def of_job(self, job_id: str) -> Amount:
        """What reservations of the job came to, open ones at their full amount."""
        [found] = await self._read([JobKeys(job_id).spend])
        return found

    async def of_keys_today(self, key_ids: Sequence[str]) -> Sequence[Amount]:
        """The same for each of some keys, since midnight UTC."""
        day = await self._today()
        return await self._read([keys.spend_of_key(key_id, day) for key_id in key_ids])

    async def day_of_key(self, key_id: str) -> tuple[Amount, int]:
        """What was paid for a key's jobs since midnight UTC, without open reservations, and how
        many of its jobs are queued or running."""
        account = keys.spend_of_key(key_id, await self._today())
        fields = ["cost", "open_cost", "tokens", "open_tokens"]
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.hmget(account, fields)
            pipe.hget(keys.UNFINISHED, key_id)
            spent, unfinished = await ask(pipe.execute())
        cost, open_cost, tokens, open_tokens = (int(each or 0) for each in spent)
        return Amount(cost - open_cost, tokens - open_tokens), max(int(unfinished or 0), 0)

    async def of_tenant_today(self, tenant: str) -> Amount:
        """The same for a tenant."""
        [found] = await self._read([keys.spend_of_tenant(tenant, await self._today())])
        return found

    async def _today(self) -> str:
        return str(await self.now() // DAY_MS)

    async def _read(self, accounts: Sequence[str]) -> Sequence[Amount]:
        async with self.redis.pipeline(transaction=False) as pipe:
            for account in accounts:
                pipe.hmget(account, ["cost", "tokens"])
            found = await ask(pipe.execute())
        return [Amount(int(cost or 0), int(tokens or 0)) for cost, tokens in found]


def settled(job: JobKeys, reservation: str, spent: Spent) -> Command:
    """The command of `commit.lua` that makes a reservation what was spent."""
    return ("SETTLE", job.spend, reservation, *_pair(spent))


def _pair(of: Cap | Spent) -> tuple[Argument, Argument]:
    return ("" if of.cost is None else of.cost, "" if of.tokens is None else of.tokens)


class DayCounts:
    """What jobs add up to, by tenant and day: see jobs.counting. A commit adds."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def days(self, tenant: str, days: Sequence[str]) -> Sequence[Counts]:
        """The counts of each of these days, as 2026-11-22."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for day in days:
                pipe.hgetall(keys.day_counts(tenant, day))
            found = await ask(pipe.execute())
        return [{name.decode(): int(count) for name, count in day.items()} for day in found]


def charged(job: JobKeys, charge: Charge) -> Iterator[Command]:
    """A payment, once per call id; what was set aside for it is settled."""
    tokens = (charge.input_tokens, charge.output_tokens)
    paid_for = [charge.role, charge.model, *tokens, charge.cost_usd, charge.cached_input_tokens]
    yield ("HSETNX", job.charges, charge.call, dump(paid_for))
    if charge.reservation is not None:
        yield settled(job, charge.reservation, charge.spent)


def count_commands(tenant: str, day: str, counts: Counts) -> Iterator[Command]:
    """The commands that add to a day."""
    name = keys.day_counts(tenant, day)
    for each, count in counts.items():
        yield ("HINCRBY", name, each, count)
    if counts:
        yield ("EXPIRE", name, counting.DAYS_KEPT * 86_400)
