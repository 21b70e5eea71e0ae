"""The primary Redis is lost under load, and a replica takes over: see docs/how-to/scale-out.md."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
import redis
from support.processes.fronts import Caller, caller, front
from support.processes.scene import Scene, Work, until
from support.servers import redis_servers

from jobs.model.record import JobRecord, Status
from jobs.service import Operations
from jobs.store.redis_store import RedisStore, connect
from lab.drills.chaos.faults.tcp_proxy import Direction, FaultProxy, NetworkFault
from lab.drills.chaos.oplog import Repaired, Struck

FAULT = "failover"
LAGGING = NetworkFault(latency_seconds=0.3)
"""The delay of the replication in seconds, which is shorter than the timeout of WAIT."""
SUBMITTED = 20
STEPS = tuple(f"print({number})" for number in range(6))
"""The number of calls of a job. With so many calls, a worker records some of them at any time."""
NAMES = ("one", "two", "three")


def replica_of(scene: Scene, name: str, port: int) -> contextlib.AbstractContextManager:
    follows = ("--replicaof", "127.0.0.1", str(port))
    folder = scene.deployment.folder / name
    return redis_servers.start(scene.deployment.server.binary, folder, *follows, tcp=True)


def promote_replica(*replicas: redis_servers.RedisServer) -> redis_servers.RedisServer:
    """Promote the most advanced replica and make the other replicas follow it, as Sentinel does."""
    with contextlib.ExitStack() as stack:
        clients = {
            replica: stack.enter_context(redis.Redis.from_url(replica.url)) for replica in replicas
        }
        first = max(replicas, key=lambda r: clients[r].info("replication")["slave_repl_offset"])
        clients[first].replicaof("NO", "ONE")
        for follower in set(replicas) - {first}:
            clients[follower].replicaof("127.0.0.1", str(redis_servers.port_of(first)))
            redis_servers.wait_in_step(follower)
    return first


@pytest.mark.invariant("J1")
async def test_acknowledged_writes_survive_the_loss_of_the_primary(scene: Scene) -> None:
    """With FETTLE_REDIS_REPLICAS=1, jobs, a decision and charges survive the failover, although the
    replicas lag behind and lose the data that is on its way to them.
    """
    primary = scene.deployment.server
    with (
        FaultProxy("127.0.0.1", redis_servers.port_of(primary)) as link,
        replica_of(scene, "first", link.port) as first,
        replica_of(scene, "second", link.port) as second,
        FaultProxy("127.0.0.1", redis_servers.port_of(primary)) as address,
    ):
        for replica in (first, second):
            redis_servers.wait_in_step(replica)
        url = f"redis://127.0.0.1:{address.port}"
        settings = {"redis_url": f"{url}/0", "broker_url": f"{url}/1", "redis_replicas": "1"}
        scene.deployment.worker(**settings)
        with front(scene.deployment, **settings) as api:
            async with caller(api.url, scene.log) as client:
                await scene.deployment.ready()
                decided = await waiting(scene)
                for name in NAMES:
                    await scene.submit(name, Work(STEPS, seconds=0.1))
                await scene.requests(NAMES[-1], 2, seconds=90)
                link.set(LAGGING, Direction.DOWN)
                scene.work["asked"] = Work()
                job_ids: list[str] = []
                submitting = asyncio.create_task(submit_jobs(client, job_ids))
                await until(lambda: len(job_ids) > 1, show_details=scene.deployment.logs)
                await approve(client, decided)
                scene.log.add(Struck(fault=FAULT, blinds=True))
                primary.kill()
                link.reset()
                before = len(job_ids)
                await asyncio.sleep(1)
                new_primary = await asyncio.to_thread(promote_replica, first, second)
                address.point_to("127.0.0.1", redis_servers.port_of(new_primary))
                scene.log.add(Repaired(fault=FAULT))
                async with use_redis(scene, new_primary.url):
                    await submitting
                    assert 0 < before < SUBMITTED == len(set(job_ids)), "it was in their middle"
                    await scene.wait_for_success(*NAMES, "decided", seconds=90)
                    for job_id in job_ids:
                        job = await scene.deployment.until(scene.operations, job_id, seconds=60)
                        assert job.status is Status.SUCCEEDED
                    await scene.check_paid_once(*NAMES)
                    await scene.judge()


async def waiting(scene: Scene) -> JobRecord:
    """A job that waits for a person."""
    job_id = await scene.submit("decided", review=True)
    return await scene.deployment.until(scene.operations, job_id, Status.AWAITING_REVIEW)


async def approve(client: Caller, job: JobRecord) -> None:
    assert job.review is not None
    answer = await client.decide(job.id, job.review.id, action="approve")
    assert answer is not None
    assert answer.status_code == 202, answer.text


async def submit_jobs(client: Caller, job_ids: list[str]) -> None:
    for number in range(SUBMITTED):
        key = f"asked-{number}"
        job_ids.append(await client.submit_until_accepted(key, task="x", model="groq:asked"))


@contextlib.asynccontextmanager
async def use_redis(scene: Scene, url: str) -> AsyncIterator[None]:
    """Make the scene use another Redis."""
    before = scene.operations
    scene.operations = Operations(RedisStore(connect(url, seconds=20)), lambda *_: None)
    try:
        yield
    finally:
        await scene.operations.store.close()
        scene.operations = before
