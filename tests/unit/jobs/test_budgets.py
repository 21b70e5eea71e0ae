"""What may be spent, as rules: whatever happens in whatever order, a limit holds."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from jobs.budgets import (
    DAY_MS,
    PER_DOLLAR,
    Account,
    Amount,
    Asking,
    Cap,
    Short,
    Spent,
    billionths,
    in_dollars,
)
from jobs.errors import StaleEpoch
from jobs.memory_budgets import MemoryBudgets

JOBS = ("j1", "j2", "j3")
JOB_CAP, DAY_CAP = Cap(cost=60, tokens=90), Cap(cost=100, tokens=150)
AMOUNTS = st.builds(Amount, st.integers(0, 40), st.integers(0, 40))


class Spending(RuleBasedStateMachine):
    """Three jobs of one key, whose calls end well, are refused, or are never heard of again.

    A provider bills what it wants up to what was set aside; what it bills is the truth.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.epochs = dict.fromkeys(JOBS, 1)
        self.budgets = MemoryBudgets(lambda: self.now, self._owns)
        self.open: list[tuple[str, str, Amount, int]] = []
        self.billed: list[tuple[str, Amount, int]] = []
        self.names = 0

    async def _owns(self, job_id: str, epoch: int) -> bool:
        return self.epochs[job_id] == epoch

    def _reserve(self, job_id: str, epoch: int, most: Amount) -> Short | None:
        self.names += 1
        asking = Asking(f"r{self.names}", most, JOB_CAP, "key", DAY_CAP)
        short = asyncio.run(self.budgets.reserve(job_id, epoch, asking))
        if short is None:
            self.open.append((job_id, asking.id, most, self.now // DAY_MS))
        return short

    @rule(job_id=st.sampled_from(JOBS), most=AMOUNTS)
    def call(self, job_id: str, most: Amount) -> None:
        """A call that wants to be made."""
        short = self._reserve(job_id, self.epochs[job_id], most)
        assert short is None or short.used + short.asked > short.cap

    @rule(job_id=st.sampled_from(JOBS))
    def taken_over(self, job_id: str) -> None:
        """Its worker was killed: what it had set aside stays, and it gets no more."""
        self.epochs[job_id] += 1
        with pytest.raises(StaleEpoch):
            self._reserve(job_id, self.epochs[job_id] - 1, Amount(1, 1))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def settled(self, data: st.DataObject) -> None:
        """A reply with its figures; told twice, as after a lost answer."""
        job_id, name, most, day = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        spent = Amount(data.draw(st.integers(0, most.cost)), data.draw(st.integers(0, most.tokens)))
        self.billed.append((job_id, spent, day))
        for _ in range(2):
            self.budgets.settle(job_id, name, Spent(spent.cost, spent.tokens))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def lost(self, data: st.DataObject) -> None:
        """Nobody will ever hear of it: the provider bills all of it."""
        job_id, _, most, day = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        self.billed.append((job_id, most, day))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def refused(self, data: st.DataObject) -> None:
        """The provider said no, and bills nothing."""
        job_id, name, _, _ = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        asyncio.run(self.budgets.release(job_id, name))

    @rule()
    def a_day_goes_by(self) -> None:
        """Midnight."""
        self.now += DAY_MS

    @invariant()
    def no_job_is_billed_more_than_its_limit(self) -> None:
        """Nor could it be, if all that is under way were billed in full."""
        for job_id in JOBS:
            most = [(j, m) for j, _, m, _ in self.open] + [(j, m) for j, m, _ in self.billed]
            mine = [amount for job, amount in most if job == job_id]
            assert sum(amount.cost for amount in mine) <= (JOB_CAP.cost or 0)
            assert sum(amount.tokens for amount in mine) <= (JOB_CAP.tokens or 0)

    @invariant()
    def no_key_is_billed_more_than_its_day(self) -> None:
        """A call counts for the day on which it was let through."""
        whole = [(d, m) for _, _, m, d in self.open] + [(d, m) for _, m, d in self.billed]
        for day in {day for day, _ in whole}:
            assert sum(amount.cost for at, amount in whole if at == day) <= (DAY_CAP.cost or 0)
            assert sum(amount.tokens for at, amount in whole if at == day) <= (DAY_CAP.tokens or 0)


Spending.TestCase.settings = settings(
    max_examples=30,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow],
)
test_a_limit_holds = Spending.TestCase


def test_money_is_counted_in_whole_billionths_rounded_up() -> None:
    assert billionths("0.25") == PER_DOLLAR // 4
    assert billionths(Decimal("0.0000000001")) == 1
    assert in_dollars(billionths("12.5")) == "12.5"
    assert in_dollars(0) == "0"


def test_what_is_set_aside_and_settled_leaves_what_was_spent() -> None:
    most = Amount(10, 20)
    account = Account().reserved(most).reserved(most)
    assert account == Account(Amount(20, 40), Amount(20, 40))
    assert account.settled(most, Spent(4, None)) == Account(Amount(14, 40), Amount(10, 20))
    short = account.shortage("key", Amount(1, 1), Cap(cost=20))
    assert short == Short("key", "cost", 20, 20, 1, 20)
    assert account.shortage("key", Amount(0, 9_999), Cap(cost=20)) is None
