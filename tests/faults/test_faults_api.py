"""API processes that die or stop: no accepted job is lost, and no request has its effect twice."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import pytest
from support.graph.recorded import one_run
from support.jobs.job_examples import RESULT
from support.processes.deployment import TENANT, Deployment, ok, running_deployment
from support.processes.fronts import caller, front
from support.processes.scene import until

from jobs.model.events import NewEvent
from jobs.model.record import Status
from jobs.model.review import Review, ReviewKind
from jobs.model.spec import JobSpec
from jobs.service import Operations
from jobs.store import LeaseRef, Writes
from jobs.transitions.lifecycle import Policy
from lab.drills.chaos.oplog import OperationLog, Received


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with running_deployment(tmp_path_factory.mktemp("deployment")) as new_deployment:
        new_deployment.record("once", one_run("once", "print('x')"))
        new_deployment.worker()
        yield new_deployment


async def listed(operations: Operations, label: str) -> list[str]:
    page = await operations.store.page(TENANT, limit=100, offset=0, status=None, label=label)
    return [record.id for record in page.records]


async def paused(deployment: Deployment, operations: Operations) -> str:
    """A job that waits for a person; the test played its worker."""
    job_id = await deployment.submit(operations, JobSpec(task="paused", review=True))
    lease = LeaseRef(job_id, ok(await operations.claim(job_id, "test")).epoch)
    review = Review(
        "r1", ReviewKind.REVIEW, {"answer": "42", "unproven": None}, await operations.store.now()
    )
    ok(await operations.pause(lease, review))
    return job_id


@pytest.mark.parametrize(
    ("point", "is_stored"),
    [
        ("before_accept", False),
        ("after_accept", True),
        ("before_hint", True),
        ("after_hint", True),
    ],
)
async def test_an_api_killed_at_any_point_of_a_submission(
    deployment: Deployment, point, is_stored
) -> None:
    """J1, J2: the client repeats its request with the same key; one job exists, and it ends."""
    body = {"task": "once", "model": "recording:once", "labels": [point]}
    with front(deployment, point, fail_point=point) as dying, front(deployment, "next") as api:
        async with caller(dying.url) as client:
            assert await client.submit(point, **body) is None, "it died without a word"
        assert await asyncio.to_thread(dying.process.wait, 10) == -signal.SIGKILL
        async with deployment.operations() as operations, caller(api.url) as client:
            assert len(await listed(operations, point)) == is_stored
            again = await client.submit(point, **body)
            assert again is not None
            assert (again.status_code, "idempotency-replayed" in again.headers) == (202, is_stored)
            (job_id,) = await listed(operations, point)
            assert again.json()["id"] == job_id
            mismatch = await client.submit(point, **{**body, "task": "another"})
            assert mismatch is not None
            assert mismatch.status_code == 422
            job = await deployment.until(operations, job_id)
            assert (job.status, job.attempts) == (Status.SUCCEEDED, 1), deployment.logs()


@pytest.mark.parametrize("side", ["before", "after"])
async def test_an_api_killed_before_or_after_a_decision_or_cancel(
    deployment: Deployment, side: str
) -> None:
    """J10, J11: a repeated request has one effect, or its answer says that the job has ended."""
    done = side == "after"
    async with deployment.operations() as operations:
        decided, cancelled = (
            await paused(deployment, operations),
            await paused(deployment, operations),
        )
        with (
            front(deployment, "d", fail_point=f"{side}_decision") as first,
            front(deployment, "c", fail_point=f"{side}_cancel") as second,
            front(deployment, "next") as api,
        ):
            async with caller(first.url) as client:
                decision = {"action": "reject", "feedback": "no"}
                assert await client.decide(decided, "r1", **decision) is None
            async with caller(second.url) as client:
                assert await client.cancel(cancelled) is None
            async with caller(api.url) as client:
                again = await client.decide(decided, "r1", **decision)
                stopped = await client.cancel(cancelled)
        assert again is not None
        assert stopped is not None
        assert (again.status_code, stopped.status_code) == ((409, 200) if done else (202, 202))
        if done:
            assert again.json()["state"] == "failed"
            assert stopped.json()["status"] == "cancelled"
        assert (await deployment.kinds(operations, decided)).count("decided") == 1
        assert (await deployment.record_of(operations, decided)).status is Status.FAILED
        assert (await deployment.kinds(operations, cancelled)).count("cancelled") == 1


async def test_a_hundred_streams_end_with_their_api_and_continue_at_another(
    deployment: Deployment,
) -> None:
    """J12: the stopped process exits within 5 s, and every reader receives every event exactly
    once.
    """
    jobs, readers, facts = 5, 20, 12
    async with deployment.operations() as operations:
        leases = []
        # the test does not renew these leases, so they outlast the test on a busy machine
        claims = Operations(operations.store, lambda *_: None, Policy(lease_ms=600_000))
        for _ in range(jobs):
            job_id = await deployment.submit(operations, JobSpec(task="sum"))
            leases.append(LeaseRef(job_id, ok(await claims.claim(job_id, "test")).epoch))

        async def append_facts() -> None:
            for number in range(facts):
                for lease in leases:
                    fact = NewEvent(f"s{number}", "summarized", {"text": "x" * 1_000})
                    await operations.store.write(lease.job_id, lease.epoch, Writes(events=[fact]))
                await asyncio.sleep(0.1)
            for lease in leases:
                ok(await operations.succeed(lease, RESULT, ""))

        with front(deployment, "first") as first, front(deployment, "second") as second:

            async def read(lease: LeaseRef) -> tuple[list[int], list[int]]:
                before = await first_client.follow(lease.job_id, "reader")
                return before, await second_client.follow(lease.job_id, "reader", before[-1])

            log = OperationLog()
            async with caller(first.url, log) as first_client, caller(second.url) as second_client:
                reading = [asyncio.create_task(read(lease)) for lease in leases * readers]
                async with asyncio.timeout(60):
                    while (
                        "\nfettle_event_streams 100.0\n"
                        not in (await first_client.client.get("/metrics")).text
                    ):
                        await asyncio.sleep(0.05)
                await until(lambda: readers_of(log, 2) == jobs * readers)
                telling = asyncio.create_task(append_facts())
                await until(lambda: readers_of(log, 3) > 0)
                started_at = time.monotonic()
                os.kill(first.process.pid, signal.SIGTERM)
                code = await asyncio.to_thread(first.process.wait, 10)
                took = time.monotonic() - started_at
                read_by_all = await asyncio.wait_for(asyncio.gather(*reading), 90)
                await telling
    assert (code, took < 5) == (-signal.SIGTERM, True), took
    all_numbers = list(range(1, 2 + facts + 2))  # submitted, started, facts, succeeded
    assert all(before + after == all_numbers for before, after in read_by_all)
    assert any(2 < len(before) < len(all_numbers) for before, _ in read_by_all), (
        "it was cut in between"
    )


def readers_of(log: OperationLog, seq: int) -> int:
    """The number of readers that have received the event `seq`."""
    return sum(isinstance(entry, Received) and entry.seq == seq for entry in log.entries)
