"""Spending limits hold over several workers, and under kill -9: real workers, and a provider that
counts.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from threading import Lock

import pytest
from support.graph.working_model import works
from support.processes.deployment import MORTAL, TENANT, Deployment, running_deployment

from jobs.budgets import PER_DOLLAR
from jobs.model.credentials import Credential, Scope, digest_secret
from jobs.model.record import Reason, Status
from jobs.model.spec import JobSpec
from jobs.service import Operations, Submission
from jobs.store.credentials import Credentials
from lab.provider import Hang, ProviderServer, Reply, Request, Tokens, Turn

LLAMA = "groq:llama-3.3-70b-versatile"
USED = Tokens(input=2_000, output=1_000)
IN, OUT = Decimal("0.59"), Decimal("0.79")
COST = (USED.input * IN + USED.output * OUT) / 1_000_000
"""The prices of https://groq.com/pricing, in dollars for each call below."""
KEY = "k50"


class Paid:
    """A provider that adds up the cost of its answers, like a bill."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.calls = 0

    @property
    def dollars(self) -> Decimal:
        return self.calls * COST

    def __call__(self, request: Request) -> Turn:
        with self._lock:
            self.calls += 1
        return billed(request)


def billed(request: Request) -> Reply:
    """The reply for each call of a successful job, always with the same tokens."""
    return replace(works(request), tokens=USED)


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as started_deployment:
        yield started_deployment


async def keyed(deployment: Deployment, operations: Operations, **limits: str | int) -> None:
    """A stored key with limits."""
    key = Credential(KEY, "fifty", TENANT, (Scope.SUBMIT,), **limits)  # type: ignore[arg-type]
    await Credentials(operations.store.redis).add(key, digest_secret("s"))  # type: ignore[attr-defined]


async def submit(operations: Operations, key_id: str = KEY, **fields: object) -> str:
    spec = JobSpec(task="6 times 7", model=LLAMA, **fields)  # type: ignore[arg-type]
    submitted = await operations.submit(TENANT, spec, by="fifty", key_id=key_id)
    assert isinstance(submitted, Submission)
    return submitted.record.id


@pytest.mark.usefixtures("one_day")
async def test_fifty_jobs_of_a_key_over_two_workers_never_spend_more_than_its_day(
    deployment: Deployment,
) -> None:
    paid, cap = Paid(), Decimal("0.25")
    with ProviderServer(paid) as server:
        for _ in range(2):
            deployment.worker(groq_base_url=server.groq_url)
        async with deployment.operations() as operations:
            await keyed(deployment, operations, max_cost_usd_per_day=str(cap))
            await deployment.ready(workers=2)
            jobs = [await submit(operations) for _ in range(50)]
            finished_jobs = [
                await deployment.until(operations, job_id, seconds=60) for job_id in jobs
            ]
            [today] = await operations.store.budgets.of_keys_today([KEY])
        failed = [job for job in finished_jobs if job.status is Status.FAILED]
        assert {job.reason for job in failed} == {Reason.BUDGET_EXHAUSTED}, deployment.logs()
        assert "fettle keys limit" in failed[0].detail
        assert Decimal(today.cost) / PER_DOLLAR == paid.dollars <= cap
        # The remaining budget is less than the cost of a call.
        assert paid.dollars > cap - Decimal("0.006")


async def test_a_call_that_a_kill_cuts_off_counts_as_spent(deployment: Deployment) -> None:
    """The next worker repeats the call, paid out of the remaining budget."""
    hung = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hangs_once(request: Request) -> Turn:
        if not hung.is_set() and request.messages[-1].speaker == "tool":
            loop.call_soon_threadsafe(hung.set)
            return Hang()
        return billed(request)

    with ProviderServer(hangs_once) as server:
        first = deployment.worker(groq_base_url=server.groq_url, lease_seconds=MORTAL)
        async with deployment.operations() as operations:
            await keyed(deployment, operations, max_tokens_per_day=1_000_000)
            job_id = await submit(operations, max_tokens=100_000)
            await asyncio.wait_for(hung.wait(), 30)
            first.send_signal(signal.SIGKILL)
            first.wait()
            [aside] = await operations.store.budgets.of_keys_today([KEY])
            assert (
                aside.tokens > 2 * 3_000 + 1_000 + 2_048
            )  # two paid calls, and the bound of the third
            deployment.worker(groq_base_url=server.groq_url)
            job = await deployment.until(operations, job_id)
            assert job.status is Status.SUCCEEDED, deployment.logs()
            [used] = await operations.store.budgets.of_keys_today([KEY])
            assert used.tokens == aside.tokens + 2 * 3_000
            assert len(await operations.store.charges(job_id)) == 4


async def test_a_job_ends_with_its_best_result_if_its_budget_is_spent(
    deployment: Deployment,
) -> None:
    """The budget pays for three of four calls; it is too small for the critic's call."""

    def honest(request: Request) -> Turn:
        tokens = Tokens(input=len(json.dumps(request.body)) // 4, output=300)
        return replace(works(request), tokens=tokens)

    with ProviderServer(honest) as server:
        deployment.worker(groq_base_url=server.groq_url, max_output_tokens="1000")
        async with deployment.operations() as operations:
            unlimited_job = await submit(operations)
            assert (await deployment.until(operations, unlimited_job)).status is Status.SUCCEEDED, (
                deployment.logs()
            )
            paid = await operations.store.charges(unlimited_job)
            assert len(paid) == 4
            before = [Decimal(charge.cost_usd or 0) for charge in paid if charge.role != "critic"]
            cap = sum(before) + Decimal("0.0018")
            job_id = await submit(operations, max_cost_usd=str(cap))
            job = await deployment.until(operations, job_id)
            assert (job.status, job.reason) == (Status.FAILED, Reason.BUDGET_EXHAUSTED)
            assert "max_cost_usd" in job.detail
            assert job.result is not None
            assert job.result.answer == "It prints 42."
            assert len(await operations.store.charges(job_id)) == 3


async def test_the_smallest_token_limit_is_enough_for_a_small_job(deployment: Deployment) -> None:
    """The worker announces this limit, and the API refuses smaller limits."""

    def honest(request: Request) -> Turn:
        tokens = Tokens(input=len(json.dumps(request.body)) // 4, output=300)
        return replace(works(request), tokens=tokens)

    with ProviderServer(honest) as server:
        deployment.worker(groq_base_url=server.groq_url)
        async with deployment.operations() as operations:
            async with asyncio.timeout(30):
                while not (workers := await operations.store.workers()):
                    await asyncio.sleep(0.05)
            [worker] = workers
            job_id = await submit(operations, max_tokens=worker["call_tokens"])
            job = await deployment.until(operations, job_id)
            assert job.status is Status.SUCCEEDED, job.detail
            job_id = await submit(operations, max_tokens=worker["call_tokens"] - 8_000)
            job = await deployment.until(operations, job_id)
            assert job.reason is Reason.BUDGET_EXHAUSTED
            assert await operations.store.charges(job_id) == []


async def test_under_a_cost_limit_a_model_without_a_price_is_not_called(
    deployment: Deployment,
) -> None:
    with ProviderServer(billed) as server:
        deployment.worker(groq_base_url=server.groq_url, prices="groq:our-own=10/20")
        async with deployment.operations() as operations:
            spec = JobSpec(task="6 times 7", model="groq:made-up-model", max_cost_usd="1")
            job = await deployment.until(operations, await deployment.submit(operations, spec))
            assert (job.status, job.reason) == (Status.FAILED, Reason.BUDGET_EXHAUSTED)
            assert "FETTLE_PRICES" in job.detail
            assert server.requests == []
            job_id = await deployment.submit(operations, replace(spec, model="groq:our-own"))
            assert (await deployment.until(operations, job_id)).status is Status.SUCCEEDED, (
                deployment.logs()
            )
            charges = await operations.store.charges(job_id)
            assert {charge.cost_usd for charge in charges} == {"0.04"}
