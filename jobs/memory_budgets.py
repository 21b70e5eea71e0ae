"""MemoryBudgets: what jobs and keys may spend, of one process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from jobs.budgets import DAY_MS, Account, Amount, Asking, Short, Spent
from jobs.errors import StaleEpoch


@dataclass(frozen=True, slots=True)
class _Reservation:
    most: Amount
    days: tuple[str, ...]


@dataclass(slots=True)
class _Job:
    account: Account = field(default_factory=Account)
    open: dict[str, _Reservation] = field(default_factory=dict)


class MemoryBudgets:
    """Implements Budgets; `owns` says whether a job is running under an epoch."""

    def __init__(
        self, clock: Callable[[], int], owns: Callable[[str, int], Awaitable[bool]]
    ) -> None:
        self._clock = clock
        self._owns = owns
        self._jobs: dict[str, _Job] = {}
        self._days: dict[str, Account] = {}

    async def reserve(self, job_id: str, epoch: int, asking: Asking) -> Short | None:
        """See Budgets."""
        if not await self._owns(job_id, epoch):
            raise StaleEpoch(job_id, epoch)
        job = self._jobs.setdefault(job_id, _Job())
        if asking.id in job.open:
            return None
        short = job.account.shortage("job", asking.most, asking.job)
        for day in asking.days:
            account = self._of(self._today(day.whose, day.name))
            short = short or account.shortage(day.whose, asking.most, day.cap)
        if short is not None:
            return short
        days = tuple(self._today(day.whose, day.name) for day in asking.days)
        job.open[asking.id] = _Reservation(asking.most, days)
        job.account = job.account.reserved(asking.most)
        for name in days:
            self._days[name] = self._of(name).reserved(asking.most)
        return None

    async def release(self, job_id: str, reservation: str) -> None:
        """See Budgets."""
        self.settle(job_id, reservation, Spent(0, 0))

    def settle(self, job_id: str, reservation: str, spent: Spent) -> None:
        """A reservation becomes what was spent."""
        job = self._jobs.get(job_id, _Job())
        if (made := job.open.pop(reservation, None)) is None:
            return
        job.account = job.account.settled(made.most, spent)
        for name in made.days:
            self._days[name] = self._of(name).settled(made.most, spent)

    async def of_job(self, job_id: str) -> Amount:
        """See Budgets."""
        return self._jobs.get(job_id, _Job()).account.used

    async def of_keys_today(self, key_ids: Sequence[str]) -> Sequence[Amount]:
        """See Budgets."""
        return [self._of(self._today("key", key_id)).used for key_id in key_ids]

    async def of_tenant_today(self, tenant: str) -> Amount:
        """See Budgets."""
        return self._of(self._today("tenant", tenant)).used

    def forget(self, job_id: str) -> None:
        """The job is removed."""
        self._jobs.pop(job_id, None)

    def _of(self, day: str) -> Account:
        return self._days.get(day, Account())

    def _today(self, whose: str, name: str) -> str:
        return f"{whose}:{name}:{self._clock() // DAY_MS}"
