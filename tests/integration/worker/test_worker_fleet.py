"""The rules for all workers are on record; the environment of a single worker has no effect."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.processes.deployment import Deployment, running_deployment

from jobs.model.fleet import FleetRecord, dump, first_record, load
from jobs.model.spec import JobSpec
from jobs.redis.keys import FINISHED, FLEET
from jobs.service import Operations
from jobs.store.fleet import DAY_MS
from settings.worker import WorkerSettings
from worker.background.fleet import open_fleet

SHORT = {"FETTLE_RETENTION_DAYS": "0.000001", "FETTLE_RETENTION_SWEEP_SECONDS": "0.1"}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, FETTLE_RETENTION_SWEEP_SECONDS="0.2") as started_deployment:
        yield started_deployment


def start_worker_with(deployment: Deployment, **env: str) -> None:
    """Start a worker with a different environment, which is not put on record."""
    before, deployment.env = deployment.env, {**deployment.env, **env}
    deployment.worker()
    deployment.env = before


async def finished(deployment: Deployment, operations: Operations, count: int) -> list[str]:
    """Jobs that have ended."""
    job_ids = [await deployment.submit(operations, JobSpec("never")) for _ in range(count)]
    for job_id in job_ids:
        await operations.cancel(job_id, "test")
    return job_ids


async def on_record(operations: Operations) -> FleetRecord:
    text = await operations.store.redis.get(FLEET)
    return load(text)


async def stored_jobs(operations: Operations, job_ids: list[str]) -> int:
    return sum([await operations.store.load(job_id) is not None for job_id in job_ids])


def logged(deployment: Deployment, event: str) -> list[dict[str, Any]]:
    lines = [line for line in deployment.logs().splitlines() if line[:1] == "{"]
    return [line for line in map(json.loads, lines) if line["event"] == event]


async def test_a_worker_with_another_retention_removes_nothing(deployment: Deployment) -> None:
    async with deployment.operations() as operations:
        deployment.worker()
        await deployment.ready()
        job_ids = await finished(deployment, operations, 20)
        deployment.stop_workers()
        start_worker_with(deployment, **SHORT, FETTLE_RETRIES="1")
        await deployment.ready()
        await asyncio.sleep(3)  # a time in which the worker would have removed all jobs
        assert await stored_jobs(operations, job_ids) == 20
        ignored = {
            line["name"]: (line["value"], line["counts"])
            for line in logged(deployment, "fleet setting ignored")
        }
        assert ignored["FETTLE_RETENTION_DAYS"] == (1e-06, 30.0)
        assert ignored["FETTLE_RETRIES"] == (1, 12)
        async with asyncio.timeout(20):
            while not (announced := await operations.store.workers()):
                await asyncio.sleep(0.05)
        assert announced[0]["fleet"]["ignored"]["retention_days"] == 1e-06
        assert announced[0]["fleet"]["version"] == (await on_record(operations)).version == 1


async def test_the_first_of_all_workers_does_not_remove_existing_jobs(
    deployment: Deployment,
) -> None:
    """After an upgrade there are jobs and no record of rules. The environment of the first worker
    may differ from the environments of all others, so its retention does not count."""
    async with deployment.operations() as operations:
        job_ids = await finished(deployment, operations, 5)
        await asyncio.sleep(0.2)
        start_worker_with(deployment, **SHORT)
        await deployment.ready()
        record = await on_record(operations)
        assert record.rules.retention_days == 30
        assert (
            record.rules.retention_sweep_seconds == 0.1
        )  # the other settings of its environment apply
        await asyncio.sleep(2)
        assert await stored_jobs(operations, job_ids) == 5
        (line,) = logged(deployment, "retention not taken from the environment")
        assert line["would_remove_jobs"] == 5


async def test_the_first_record_removes_no_job_of_any_age(deployment: Deployment) -> None:
    """The fleet kept jobs for 90 days, and the first worker of the new release has the default."""
    async with deployment.operations() as operations:
        job_ids = await finished(deployment, operations, 5)
        days_ago = await operations.store.now() - 80 * DAY_MS
        await operations.store.redis.zadd(FINISHED, {job_ids[0]: days_ago})
        deployment.worker()
        await deployment.ready()
        assert (await on_record(operations)).rules.retention_days == 81
        await asyncio.sleep(2)
        assert await stored_jobs(operations, job_ids) == 5
        (line,) = logged(deployment, "retention not taken from the environment")
        assert (line["retention_days"], line["would_remove_jobs"]) == (30, 1)


async def test_an_empty_deployment_starts_with_the_settings_of_its_environment(
    deployment: Deployment,
) -> None:
    start_worker_with(deployment, FETTLE_RETENTION_DAYS="7", FETTLE_RETRIES="40")
    start_worker_with(deployment, FETTLE_RETENTION_DAYS="7", FETTLE_RETRIES="40")
    await deployment.ready(2)
    async with deployment.operations() as operations:
        record = await on_record(operations)
        assert (record.rules.retention_days, record.rules.retries, record.version) == (7, 40, 1)
    assert not logged(deployment, "fleet setting ignored")


async def test_running_workers_follow_a_change_of_the_record(deployment: Deployment) -> None:
    async with deployment.operations() as operations:
        start_worker_with(deployment, FETTLE_RETENTION_SWEEP_SECONDS="3600")
        await deployment.ready()
        job_ids = await finished(deployment, operations, 3)
        await asyncio.sleep(1)
        assert await stored_jobs(operations, job_ids) == 3
        record, store = await on_record(operations), operations.store
        values = {
            "retention_days": 1e-6,
            "lease_seconds": 33.0,
            "retention_sweep_seconds": 0.2,  # the present interval ends early, too
        }
        changed = record.changed(values, await store.now(), by="ann")
        assert await store.fleet.replace(changed)
        assert not await store.fleet.replace(changed), "another change came first"
        async with asyncio.timeout(20):
            while await stored_jobs(operations, job_ids):
                await asyncio.sleep(0.1)


async def test_a_change_of_the_defaults_for_new_jobs_does_not_restart_the_periodic_work(
    deployment: Deployment,
) -> None:
    """A restart would abort messages to webhooks that are under way."""
    async with deployment.operations() as operations:
        fleet, settings = operations.store.fleet, WorkerSettings()
        record = first_record(settings.fleet_values(), 1, by="worker")
        await fleet.replace(record)
        rules, restarts = await open_fleet(operations.store, settings, "worker"), asyncio.Event()
        following = asyncio.create_task(rules.follow(operations.store, restarts.set))
        record = record.changed({"defaults": {"review": True}}, 2, by="root")
        await fleet.replace(record)
        async with asyncio.timeout(20):
            while rules.facts()["fleet"]["version"] < record.version:
                await asyncio.sleep(0.05)
        assert not restarts.is_set()
        await fleet.replace(record.changed({"retries": 7}, 3, by="root"))
        async with asyncio.timeout(20):
            await restarts.wait()
        following.cancel()


@pytest.mark.parametrize("changed", [{"retention_days": None}, {"retention_days": math.inf}])
async def test_a_damaged_record_is_not_replaced_by_a_guess(
    deployment: Deployment, changed: dict[str, Any]
) -> None:
    async with deployment.operations() as operations:
        job_ids = await finished(deployment, operations, 2)
        good = json.loads(dump(first_record(WorkerSettings().fleet_values(), 0, by="test")))
        damaged = json.dumps({**good, "rules": {**good["rules"], **changed}})
        await operations.store.redis.set(FLEET, damaged)
        start_worker_with(deployment, **SHORT)
        assert deployment.workers[0].wait(60) == 1
        assert "fettle:fleet" in deployment.logs()
        assert "Traceback" not in deployment.logs()
        assert await stored_jobs(operations, job_ids) == 2
