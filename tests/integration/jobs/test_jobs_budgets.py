"""Spending limits hold after any sequence of operations (a state machine of Hypothesis)."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from support.jobs.job_examples import lease_of
from support.jobs.walks import StoreMachine, walks

from jobs.budgets import PER_DOLLAR, Amount, BudgetShortfall, Cap, ReservationRequest
from jobs.errors import StaleEpoch
from jobs.model.record import Cause
from jobs.store import Charge

JOBS = (0, 1, 2)
JOB_CAP, DAY_CAP = Cap(cost=60, tokens=90), Cap(cost=100, tokens=150)
AMOUNTS = st.builds(Amount, st.integers(0, 40), st.integers(0, 40))
pytestmark = pytest.mark.usefixtures("one_day")


class Spending(StoreMachine):
    """Three jobs of one key. Their calls succeed, are refused, or are never reported.

    A provider bills any amount up to the reservation, and the store charges the billed amount.
    """

    def __init__(self) -> None:
        super().__init__()
        self.jobs = [self.run(self.service.running()) for _ in JOBS]
        self.open: list[tuple[int, str, Amount]] = []
        self.billed: list[tuple[int, Amount]] = []
        self.names = 0

    def _reserve(self, which: int, most: Amount) -> BudgetShortfall | None:
        self.names += 1
        asking = ReservationRequest(f"r{self.names}", most, JOB_CAP, "key", DAY_CAP)
        job = self.jobs[which]
        short = self.run(self.store.budgets.reserve(job.id, job.epoch, asking))
        if short is None:
            self.open.append((which, asking.id, most))
        return short

    @rule(which=st.sampled_from(JOBS), most=AMOUNTS)
    def call(self, which: int, most: Amount) -> None:
        """Reserve an amount for a call."""
        short = self._reserve(which, most)
        assert short is None or short.used + short.requested > short.cap

    @rule(which=st.sampled_from(JOBS))
    def taken_over(self, which: int) -> None:
        """Another attempt takes the job: reservations stay, and the old attempt gets no new
        reservation."""
        old = self.jobs[which]
        self.run(self.service.operations.requeue(lease_of(old), "", Cause.STOPPING))
        with pytest.raises(StaleEpoch):
            self._reserve(which, Amount(1, 1))
        self.jobs[which] = self.run(self.service.claim(old.id))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def settled(self, data: st.DataObject) -> None:
        """A reply with its figures; posted twice, as after a lost answer."""
        which, name, most = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        spent = Amount(
            data.draw(st.integers(0, most.cost)), data.draw(st.integers(1, most.tokens + 1))
        )
        self.billed.append((which, Amount(spent.cost, min(spent.tokens, most.tokens))))
        cost = f"{spent.cost / PER_DOLLAR:.9f}"
        tokens = min(spent.tokens, most.tokens)
        charge = Charge(name, "executor", "groq:small", tokens, 0, cost, 0, name)
        for _ in range(2):
            self.run(self.store.charge(self.jobs[which].id, [charge]))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def lost(self, data: st.DataObject) -> None:
        """No reply arrives: the provider bills the full reservation."""
        which, _, most = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        self.billed.append((which, most))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def refused(self, data: st.DataObject) -> None:
        """The provider refuses the call and bills no amount."""
        which, name, _ = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        self.run(self.store.budgets.release(self.jobs[which].id, name))

    @invariant()
    def nobody_is_billed_more_than_a_limit(self) -> None:
        """Even if every call in flight were billed in full, no limit would be exceeded."""
        most = [(which, amount) for which, _, amount in self.open] + self.billed
        for which in JOBS:
            within([amount for job, amount in most if job == which], JOB_CAP)
        within([amount for _, amount in most], DAY_CAP)


def within(amounts: list[Amount], cap: Cap) -> None:
    assert sum(amount.cost for amount in amounts) <= (cap.cost or 0)
    assert sum(amount.tokens for amount in amounts) <= (cap.tokens or 0)


def test_no_limit_is_ever_exceeded(redis_url, monkeypatch):
    monkeypatch.setattr(Spending, "url", redis_url)
    run_state_machine_as_test(Spending, settings=walks(15, 30))
