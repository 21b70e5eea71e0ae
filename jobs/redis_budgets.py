"""RedisBudgets: accounts of jobs and of days as hashes. See `scripts/reserve.lua`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from redis.asyncio import Redis

from jobs import keys
from jobs.budgets import DAY_MS, DAYS_KEPT, Amount, Asking, Cap, Short, Spent
from jobs.errors import StaleEpoch
from jobs.keys import JobKeys
from jobs.redis_commit import Commit
from jobs.redis_reach import reached
from jobs.redis_script import SCRIPTS, Argument, Command, Step

_ACCOUNTS: Mapping[str, Callable[[str, str], str]] = {
    "key": keys.spend_of_key,
    "tenant": keys.spend_of_tenant,
}


class RedisBudgets:
    """The Budgets on Redis; `commit` is the store's own."""

    def __init__(self, redis: Redis, commit: Commit) -> None:
        self._redis = redis
        self._commit = commit
        self._reserve = redis.register_script((SCRIPTS / "reserve.lua").read_text())

    async def reserve(self, job_id: str, epoch: int, asking: Asking) -> Short | None:
        """See Budgets."""
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
        return Short(whose, what, cap, int(used), getattr(asking.most, what), int(aside))

    async def release(self, job_id: str, reservation: str) -> None:
        """See Budgets."""
        job = JobKeys(job_id)
        await self._commit.apply(Step(job, commands=(settled(job, reservation, Spent(0, 0)),)))

    async def of_job(self, job_id: str) -> Amount:
        """See Budgets."""
        [found] = await self._read([JobKeys(job_id).spend])
        return found

    async def of_keys_today(self, key_ids: Sequence[str]) -> Sequence[Amount]:
        """See Budgets."""
        day = await self._today()
        return await self._read([keys.spend_of_key(key_id, day) for key_id in key_ids])

    async def of_tenant_today(self, tenant: str) -> Amount:
        """See Budgets."""
        [found] = await self._read([keys.spend_of_tenant(tenant, await self._today())])
        return found

    async def _today(self) -> str:
        seconds, _ = await reached(self._redis.time())
        return str(int(seconds) * 1000 // DAY_MS)

    async def _read(self, accounts: Sequence[str]) -> Sequence[Amount]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for account in accounts:
                pipe.hmget(account, ["cost", "tokens"])
            found = await reached(pipe.execute())
        return [Amount(int(cost or 0), int(tokens or 0)) for cost, tokens in found]


def settled(job: JobKeys, reservation: str, spent: Spent) -> Command:
    """The command of `commit.lua` that makes a reservation what was spent."""
    return ("SETTLE", job.spend, reservation, *_pair(spent))


def _pair(of: Cap | Spent) -> tuple[Argument, Argument]:
    return ("" if of.cost is None else of.cost, "" if of.tokens is None else of.tokens)
