"""Budgets reserve, settle and refuse amounts, and never exceed the limit."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.jobs.job_examples import JobService, lease_of

from jobs.budgets import Amount, BudgetShortfall, Cap, ReservationRequest
from jobs.errors import StaleEpoch
from jobs.model.record import Cause, JobRecord
from jobs.store import Charge, Writes
from jobs.store.redis_store import RedisStore

CENT = 10_000_000
KEY = "k1"
pytestmark = pytest.mark.usefixtures("one_day")


def asking(name: str, cents: int = 1, tokens: int = 10, **caps: Cap) -> ReservationRequest:
    return ReservationRequest(
        name, Amount(cents * CENT, tokens), key_id=KEY if "day" in caps else "", **caps
    )


def paid(
    call: str, reservation: str | None, cents: str | None = "0.005", tokens: int = 4
) -> Charge:
    return Charge(call, "executor", "groq:small", tokens, 0, cents, 0, reservation)


async def reserve(
    store: RedisStore, job: JobRecord, reservation: ReservationRequest
) -> BudgetShortfall | None:
    return await store.budgets.reserve(job.id, job.epoch, reservation)


async def spent_for(store: RedisStore, job: JobRecord) -> Amount:
    """The amount in the account of a running job, as the refusals of further amounts name it."""
    refusals = [
        await reserve(store, job, asking("more", job=cap)) for cap in (Cap(cost=0), Cap(tokens=0))
    ]
    used_cost, used_tokens = (refusal.used for refusal in refusals if refusal is not None)
    return Amount(used_cost, used_tokens)


async def test_an_amount_that_fits_is_reserved_and_a_larger_amount_is_refused(
    store: RedisStore, service: JobService
):
    job = await service.running()
    cap = Cap(cost=2 * CENT + CENT // 2)
    assert await reserve(store, job, asking("a", job=cap)) is None
    assert await reserve(store, job, asking("b", job=cap)) is None
    short = await reserve(store, job, asking("c", job=cap))
    assert short == BudgetShortfall("job", "cost", 25_000_000, 20_000_000, CENT, 20_000_000)
    assert short.may_fit_later  # after the other reservations are settled
    assert await spent_for(store, job) == Amount(2 * CENT, 20)


async def test_a_charge_settles_its_reservation(store: RedisStore, service: JobService):
    job = await service.running()
    await reserve(store, job, asking("a", day=Cap(cost=CENT)))
    await store.write(job.id, job.epoch, Writes(charges=[paid("c1", "a")]))
    assert await spent_for(store, job) == Amount(CENT // 2, 4)
    assert await store.budgets.of_keys_today([KEY, "none"]) == [Amount(CENT // 2, 4), Amount()]
    assert list(await store.charges(job.id)) == [replace(paid("c1", "a"), reservation=None)]


async def test_an_unknown_charge_keeps_its_reservation(store: RedisStore, service: JobService):
    job = await service.running()
    for name in "abc":
        await reserve(store, job, asking(name))
    await store.charge(job.id, [paid("c1", "a", None), paid("c2", "b", "0.001", tokens=0)])
    assert await spent_for(store, job) == Amount(CENT + CENT // 10 + CENT, 4 + 10 + 10)


async def test_a_reservation_is_released_once_and_never_after_its_settlement(
    store: RedisStore, service: JobService
):
    job = await service.running()
    await reserve(store, job, asking("a", day=Cap(tokens=100)))
    await reserve(store, job, asking("b", day=Cap(tokens=100)))
    await store.charge(job.id, [paid("c1", "a")])
    for name in ("a", "b", "b", "unknown"):
        await store.budgets.release(job.id, name)
    assert await spent_for(store, job) == Amount(CENT // 2, 4)
    assert await store.budgets.of_keys_today([KEY, "none"]) == [Amount(CENT // 2, 4), Amount()]


async def test_all_jobs_of_a_key_share_its_budget_and_no_amount_is_reserved_in_part(
    store: RedisStore, service: JobService
):
    first, two = await service.running(), await service.running()
    day = Cap(cost=3 * CENT)
    assert await reserve(store, first, asking("a", 2, day=day)) is None
    short = await reserve(store, two, asking("b", 2, day=day))
    assert short == BudgetShortfall("key", "cost", 3 * CENT, 2 * CENT, 2 * CENT, 2 * CENT)
    assert await spent_for(store, two) == Amount()
    assert await reserve(store, two, asking("c", 1, day=day)) is None
    other_key = replace(asking("d", 2, day=day), key_id="k2")
    assert await reserve(store, two, other_key) is None


async def test_all_keys_of_a_tenant_share_its_budget(store: RedisStore, service: JobService):
    first, two = await service.running(), await service.running()
    key, tenant = Cap(cost=2 * CENT), Cap(cost=3 * CENT)

    def reservation_of(name: str, key_id: str, cents: int) -> ReservationRequest:
        amount = Amount(cents * CENT, 10)
        return ReservationRequest(
            name, amount, Cap(), key_id, key, tenant="acme", tenant_day=tenant
        )

    assert await reserve(store, first, reservation_of("a", "k1", 2)) is None
    short = await reserve(store, two, reservation_of("b", "k2", 2))
    assert short == BudgetShortfall("tenant", "cost", 3 * CENT, 2 * CENT, 2 * CENT, 2 * CENT)
    assert await store.budgets.of_keys_today(["k2"]) == [Amount()], "nothing is taken in part"
    assert (await reserve(store, two, reservation_of("c", "k1", 1))).owner == "key"
    assert await reserve(store, two, reservation_of("d", "k2", 1)) is None
    await store.charge(first.id, [paid("c1", "a")])
    await store.budgets.release(two.id, "d")
    spent = Amount(CENT // 2, 4)
    assert await store.budgets.of_tenant_today("acme") == spent
    assert await store.budgets.of_keys_today(["k1"]) == [spent]
    assert await store.budgets.of_tenant_today("other") == Amount()


async def test_an_old_attempt_reserves_no_amount_but_settles_its_charges(
    store: RedisStore, service: JobService
):
    old = await service.running()
    await reserve(store, old, asking("a"))
    await service.operations.requeue(lease_of(old), "", Cause.STOPPING)
    with pytest.raises(StaleEpoch):
        await reserve(store, old, asking("b"))
    job = await service.claim(old.id)
    # The worker was killed, so the reservation counts as spent.
    assert await spent_for(store, job) == Amount(CENT, 10)
    with pytest.raises(StaleEpoch):
        await store.write(old.id, old.epoch, Writes(charges=[paid("c1", "a")]))
    assert await spent_for(store, job) == Amount(CENT // 2, 4)


async def test_concurrent_reservations_never_exceed_the_limit(
    store: RedisStore, service: JobService
):
    jobs = [await service.running() for _ in range(10)]
    day = Cap(cost=25 * CENT)
    reservations = [reserve(store, job, asking(f"{i}", day=day)) for job in jobs for i in range(5)]
    granted = [short for short in await asyncio.gather(*reservations) if short is None]
    assert len(granted) == 25
    assert (await store.budgets.of_keys_today([KEY]))[0].cost == 25 * CENT
