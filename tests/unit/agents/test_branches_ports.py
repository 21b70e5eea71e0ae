"""Branches share a budget: what one has set aside and will not use, the other may spend."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from agents.errors import BudgetExhausted
from agents.parallel.branch_ports import branch_ports
from agents.ports import Charge, Finished, Ports
from agents.ports.memory import MemoryBudget, MemoryRecord, ports_over
from agents.spending.budget import MaxSpend


async def two_branches(
    record: MemoryRecord | None = None, budget: MemoryBudget | None = None
) -> tuple[Ports, Ports]:
    """The ports of two branches of an attempt that may use 100 tokens."""
    known, nothing = record or MemoryRecord(), cast("Any", None)
    made = ports_over(known, nothing, nothing)
    made = replace(made, budget=budget or MemoryBudget(known, 100))
    return await branch_ports(made, 1, None), await branch_ports(made, 2, None)


def most() -> MaxSpend:
    return MaxSpend("m", 60, None)


def paid(reservation: str | None) -> Finished:
    return Finished(b"", charge=Charge("c", "executor", "m", 15, 5, None, reservation=reservation))


async def _waits(ports: Ports) -> asyncio.Task[str | None]:
    task = asyncio.create_task(cast("Any", ports.budget.reserve(most)))
    await asyncio.sleep(0.01)
    assert not task.done()
    return task


async def test_a_branch_waits_for_what_another_will_not_use() -> None:
    one, two = await two_branches()
    first = await one.budget.reserve(most)
    waiting = await _waits(two)
    await one.journal.record("k", paid(first))
    assert await waiting


async def test_it_is_spent_where_no_other_call_is_under_way() -> None:
    one, two = await two_branches()
    first = await one.budget.reserve(most)
    await one.journal.record("k", paid(first))
    second = await two.budget.reserve(most)
    await two.journal.paid(Charge("d", "executor", "m", 50, 10, None, reservation=second))
    with pytest.raises(BudgetExhausted):
        await one.budget.reserve(most)


async def test_nobody_waits_for_a_branch_that_has_ended() -> None:
    one, two = await two_branches()
    async with one.coordinator.one(1):
        await one.budget.reserve(most)  # and nobody will ever tell what became of it
        waiting = await _waits(two)
    with pytest.raises(BudgetExhausted):
        await waiting


async def test_two_that_wait_do_not_wait_for_each_other() -> None:
    one, two = await two_branches()
    await one.budget.reserve(most)
    waiting = await _waits(two)
    with pytest.raises(BudgetExhausted):
        await one.budget.reserve(most)  # tried again: what was set aside before stays so
    with pytest.raises(BudgetExhausted):
        await waiting
