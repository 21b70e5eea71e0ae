"""Redis ends, hangs, is full or loses its data: no accepted job is lost, and no job counts
a crash.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import time

import pytest
from redis.asyncio import Redis
from support.processes.fronts import Caller, caller, front
from support.processes.scene import TWICE, Scene, Work

from jobs.model.record import Status
from jobs.model.spec import Priority
from jobs.queue.hints import hint_list
from lab.drills.chaos.oplog import Repaired, Struck

AWAY = "redis-away"
PATIENCE_SECONDS = 3.0
OUTAGE_SECONDS = 20.0
"""Longer than the patience, and longer than the lease of 15 s."""


def cause(scene: Scene, fault: str = AWAY) -> None:
    scene.log.add(Struck(fault=fault, blinds=True))


def repair(scene: Scene, fault: str = AWAY) -> None:
    scene.log.add(Repaired(fault=fault))


async def submit_working_jobs(scene: Scene, *names: str, seconds: float = 0.3) -> None:
    """Submit jobs of two runs each, and let them reach different stages."""
    for name in names:
        await scene.submit(name, Work(TWICE, seconds=seconds))
        await asyncio.sleep(0.15)


async def assert_no_crash_counted(scene: Scene, *names: str) -> None:
    """Assert that the jobs succeeded without counted crashes or excess retries."""
    await scene.wait_for_success(*names, seconds=90)
    for name in names:
        record = await scene.deployment.record_of(scene.operations, scene.ids[name])
        lost = (await scene.event_kinds(name)).count("lease_lost")
        assert (record.crashes, record.retries, lost) == (0, 0, 0), name


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
async def test_redis_ends_under_load_for_longer_than_a_lease(scene: Scene, signum) -> None:
    """Acknowledged data survives the outage, no call is repeated, and no crash is counted."""
    scene.deployment.worker()
    scene.deployment.worker()
    names = [f"load-{number}" for number in range(8)]
    with front(scene.deployment) as api:
        async with caller(api.url, scene.log) as client:
            await scene.deployment.ready(2)
            await submit_working_jobs(scene, *names)
            scene.work["asked"] = Work(TWICE)
            body = {"task": "x", "model": "groq:asked", "labels": ["asked"]}
            submitting = asyncio.create_task(submit_jobs(client, 20, body))
            await scene.requests(names[-1], 1, seconds=90)
            cause(scene)
            scene.deployment.server.process.send_signal(signum)
            await asyncio.to_thread(scene.deployment.server.process.wait, 20)
            await asyncio.sleep(scene.lease + 1)
            with scene.deployment.restart_redis():
                repair(scene)
                accepted = await submitting
                await assert_no_crash_counted(scene, *names)
                await scene.check_paid_once(*names)
                for job_id in accepted:
                    job = await scene.deployment.until(scene.operations, job_id, seconds=60)
                    assert job.status is Status.SUCCEEDED
                assert len(set(accepted)) == 20
                await scene.judge()


async def submit_jobs(client: Caller, count: int, body: dict[str, object]) -> list[str]:
    """Submit jobs one after another as a patient client; return their ids."""
    ids = []
    for number in range(count):
        ids.append(await client.submit_until_accepted(f"asked-{number}", **body))
        await asyncio.sleep(0.1)
    return ids


async def test_redis_is_stopped_for_longer_than_attempts_wait(scene: Scene) -> None:
    """Attempts at every stage release their jobs after the outage, and no crash is counted."""
    for _ in range(2):
        scene.deployment.worker(concurrency="4", patience_seconds=str(PATIENCE_SECONDS))
    await scene.deployment.ready(2)
    await submit_working_jobs(scene, "early", "middle", "late")
    await scene.submit("asks", Work(seconds=1.5))
    await scene.submit("computes", Work(("import time; time.sleep(3); print('done')",)))
    await scene.requests("asks", 1, seconds=90)
    await scene.requests("computes", 2, seconds=90)
    names = list(scene.ids)
    cause(scene)
    started_at = time.monotonic()
    os.kill(scene.deployment.server.process.pid, signal.SIGSTOP)
    await asyncio.sleep(OUTAGE_SECONDS)
    os.kill(scene.deployment.server.process.pid, signal.SIGCONT)
    repair(scene)
    await assert_no_crash_counted(scene, *names)
    handed = [name for name in names if "given_back" in await scene.event_kinds(name)]
    assert handed, f"no attempt ran out of patience in {time.monotonic() - started_at:.0f} s"
    await scene.check_paid_once(
        *names
    )  # some answers of models arrived before the jobs were released
    await scene.judge()


async def test_the_broker_is_emptied_and_every_job_runs(scene: Scene) -> None:
    """All hints are lost, and the sweeper sends new hints."""
    names = [f"unheard-{number}" for number in range(6)]
    for name in names:
        await scene.submit(name)
    broker = await connected(scene, 1)
    async with asyncio.timeout(30):
        while await broker.llen(hint_list(Priority.NORMAL)) < len(names):
            await asyncio.sleep(0.01)
    await broker.flushdb()
    scene.deployment.worker()
    await scene.wait_for_success(*names)
    await scene.submit("last", Work(seconds=0.5))
    await scene.requests("last", 1)
    await broker.flushdb()
    await scene.wait_for_success("last")
    await broker.aclose()
    await scene.check_paid_once(*names, "last")
    await scene.judge()


async def connected(scene: Scene, database: int) -> Redis:
    """A client of one of the deployment's databases."""
    return Redis.from_url(scene.deployment.redis_url.removesuffix("/0") + f"/{database}")


async def test_redis_at_its_maxmemory(scene: Scene) -> None:
    """New jobs are refused. Running jobs wait, and end as soon as there is memory again. A cancel
    and a decision succeed.
    """
    scene.deployment.worker()
    with front(scene.deployment) as api:
        async with caller(api.url, scene.log) as client:
            await scene.deployment.ready()
            await scene.submit("reviewed", Work(), review=True)
            waits = await scene.deployment.until(
                scene.operations, scene.ids["reviewed"], Status.AWAITING_REVIEW, seconds=90
            )
            await scene.submit("stopped", Work(seconds=60))
            await scene.submit("asleep", Work(("import time; time.sleep(2)",)))
            await scene.submit("goes-on", Work(TWICE, seconds=1.5))
            await scene.requests("stopped", 1, seconds=90)
            await scene.requests("goes-on", 1, seconds=90)
            await full(scene)
            cause(scene)
            answer = await client.submit("no-memory", task="x")
            assert answer is not None
            assert (answer.status_code, answer.json()["type"]) == (503, "/problems/store-full")
            assert (answer.json()["retryable"], int(answer.headers["retry-after"]) > 0) == (
                True,
            ) * 2
            assert waits.review is not None
            decided = await client.decide(waits.id, waits.review.id, action="approve")
            cancelled = await client.cancel(scene.ids["stopped"])
            assert decided is not None
            assert cancelled is not None
            assert (decided.status_code, cancelled.status_code) == (202, 202)
            await asyncio.sleep(scene.lease + 2)
            for path in ("/jobs", f"/jobs/{waits.id}", "/readyz"):
                assert (await client.client.get(path)).status_code == 200
            assert len(await scene.operations.store.workers()) == 1, (
                "it still says that it is there"
            )
            assert not (await scene.deployment.record_of(scene.operations, waits.id)).status.final
            await free_memory(scene)
            repair(scene)
            await assert_no_crash_counted(scene, "reviewed", "asleep", "goes-on")
            await scene.check_paid_once("asleep", "goes-on")
            assert len(scene.requests_by_model["stopped"]) == 1, "no call after the cancel (J11)"
            assert (await scene.end("stopped")).status is Status.CANCELLED
            last = await client.submit_until_accepted("memory", task="x", model="groq:goes-on")
            await scene.deployment.until(scene.operations, last, seconds=60)
            await scene.judge()


async def test_redis_is_full_for_longer_than_attempts_wait(scene: Scene) -> None:
    """Attempts release their jobs without a counted try, and workers claim no job without memory.
    Only a call that could not be journaled is repeated; its charge is on record.
    """
    for _ in range(2):
        scene.deployment.worker(patience_seconds="1", retry_seconds="0.2")
    await scene.deployment.ready(2)
    await submit_working_jobs(scene, "early", "middle", "late", seconds=0.8)
    names = list(scene.ids)
    for name in names:
        await scene.requests(name, 1, seconds=90)
    await full(scene)
    cause(scene)
    for name in names:
        await scene.deployment.until(scene.operations, scene.ids[name], Status.QUEUED, seconds=60)
    answered = {name: len(scene.requests_by_model[name]) for name in names}
    await asyncio.sleep(10)
    for name in names:
        record = await scene.deployment.record_of(scene.operations, scene.ids[name])
        assert (record.status, record.attempts) == (Status.QUEUED, 1), "it was claimed for nothing"
        assert len(await scene.operations.store.charges(record.id)) == answered[name]
    await free_memory(scene)
    repair(scene)
    await assert_no_crash_counted(scene, *names)
    for name in names:
        calls = scene.work[name].calls
        assert answered[name] < calls, "it was cut in the middle"
        assert len(scene.requests_by_model[name]) == calls + 1, (
            "the call in flight alone was made again"
        )
        assert (await scene.event_kinds(name)).count("model_called") == calls
        assert len(await scene.operations.store.charges(scene.ids[name])) == calls + 1
    await scene.judge()


async def full(scene: Scene) -> None:
    redis = await connected(scene, 0)
    await redis.config_set("maxmemory", (await redis.info("memory"))["used_memory"] // 2)
    await redis.aclose()


async def free_memory(scene: Scene) -> None:
    redis = await connected(scene, 0)
    await redis.config_set("maxmemory", 0)
    await redis.aclose()


def allow_disk_bytes(scene: Scene, more: int | None) -> None:
    """Let the file of Redis grow by this number of bytes, or without limit."""
    most = resource.RLIM_INFINITY
    if more is not None:
        files = scene.deployment.redis_folder.rglob("*.aof")
        most = max(file.stat().st_size for file in files) + more
    hard = resource.RLIM_INFINITY
    resource.prlimit(scene.deployment.server.process.pid, resource.RLIMIT_FSIZE, (most, hard))


async def test_the_disk_is_full_under_appendfsync_always(scene: Scene) -> None:
    """Redis exits before it acknowledges a write that it cannot store. No data is lost."""
    scene.deployment.worker()
    names = ["one", "two", "three"]
    with front(scene.deployment) as api:
        async with caller(api.url, scene.log) as client:
            await scene.deployment.ready()
            await submit_working_jobs(scene, *names, seconds=0.5)
            scene.work["asked"] = Work()
            body = {"task": "x", "model": "groq:asked"}
            submitting = asyncio.create_task(submit_jobs(client, 15, body))
            await scene.requests("three", 1, seconds=90)
            allow_disk_bytes(scene, 20_000)
            cause(scene)
            code = await asyncio.to_thread(scene.deployment.server.process.wait, 60)
            assert code == 1, "it ends by itself"
            answer = await client.submit("away", task="x")
            assert answer is not None
            assert answer.json()["type"] == "/problems/outcome-unknown"
            await asyncio.sleep(scene.lease + 1)
            with scene.deployment.restart_redis():
                repair(scene)
                accepted = await submitting
                await assert_no_crash_counted(scene, *names)
                for job_id in accepted:
                    await scene.deployment.until(scene.operations, job_id, seconds=60)
                assert len(set(accepted)) == 15
                await scene.judge()


async def refuses_writes(redis: Redis) -> None:
    """Wait until Redis refuses writes because its disk is full."""
    async with asyncio.timeout(60):
        while (await redis.info("persistence"))["aof_last_write_status"] == "ok":
            await asyncio.sleep(0.1)


async def test_the_disk_is_full_for_longer_than_attempts_wait(scene: Scene) -> None:
    """Attempts release their jobs as soon as the disk has space. No try and no crash is counted.
    The progress of the attempts is on record, and no call is repeated.
    """
    for _ in range(2):
        scene.deployment.worker(patience_seconds="1", retry_seconds="0.2")
    redis = await connected(scene, 0)
    await redis.config_set("appendfsync", "everysec")
    await scene.deployment.ready(2)
    await submit_working_jobs(scene, "early", "middle", "late", seconds=0.8)
    await scene.requests("late", 1, seconds=90)
    names = list(scene.ids)
    allow_disk_bytes(scene, 0)
    cause(scene)
    await refuses_writes(redis)
    await asyncio.sleep(scene.lease + 2)
    allow_disk_bytes(scene, None)
    repair(scene)
    await redis.aclose()
    await assert_no_crash_counted(scene, *names)
    handed = [name for name in names if "given_back" in await scene.event_kinds(name)]
    assert handed, "no attempt ran out of patience"
    await scene.check_paid_once(*names)
    await scene.judge()
