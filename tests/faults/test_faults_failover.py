"""The primary Redis is lost under load and a replica takes its place: see docs/deployment.md."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
import redis
import redis_servers
from faults_house import TWICE, Scene, Work
from fronts import caller, front

from drills.chaos.oplog import Mended, Struck
from drills.chaos.proxy import Proxy
from jobs.operations import Operations
from jobs.record import Status
from jobs.redis_store import RedisStore, connect

FAULT = "failover"


def replica_of(scene: Scene, name: str) -> contextlib.AbstractContextManager:
    server = scene.house.server
    follows = ("--replicaof", "127.0.0.1", str(redis_servers.port_of(server)))
    folder = scene.house.folder / name
    return redis_servers.start(server.binary, folder, *follows, tcp=True)


def promote(first: redis_servers.RedisServer, second: redis_servers.RedisServer) -> None:
    """What Sentinel does: one replica takes no more orders, the other follows it."""
    with redis.Redis.from_url(first.url) as one, redis.Redis.from_url(second.url) as two:
        one.replicaof("NO", "ONE")
        two.replicaof("127.0.0.1", str(redis_servers.port_of(first)))
    redis_servers.wait_in_step(second)


@pytest.mark.invariant("J1")
async def test_nothing_that_was_answered_is_lost_with_the_primary(scene: Scene) -> None:
    """With FETTLE_REDIS_REPLICAS=1, and the address moved: jobs, decisions and paid calls stand."""
    primary = scene.house.server
    with (
        replica_of(scene, "first") as first,
        replica_of(scene, "second") as second,
        Proxy("127.0.0.1", redis_servers.port_of(primary)) as address,
    ):
        for replica in (first, second):
            redis_servers.wait_in_step(replica)
        url = f"redis://127.0.0.1:{address.port}"
        where = {"redis_url": f"{url}/0", "broker_url": f"{url}/1", "redis_replicas": "1"}
        scene.house.worker(**where)
        with front(scene.house, **where) as api:
            async with caller(api.url, scene.log) as client:
                await scene.house.ready()
                scene.work["asked"] = Work()
                for name in ("one", "two", "three"):
                    scene.work[name] = Work(TWICE, seconds=0.4)
                    body = {"task": f"The job {name}.", "model": f"groq:{name}"}
                    scene.ids[name] = await client.submit_until_told(name, **body)
                submitting = asyncio.create_task(asked_for(client))
                await scene.requests("three", 1, seconds=90)
                await asyncio.sleep(0.5)
                scene.log.add(Struck(fault=FAULT, blinds=True))
                primary.kill()
                await asyncio.sleep(1)
                promote(first, second)
                address.point_to("127.0.0.1", redis_servers.port_of(first))
                scene.log.add(Mended(fault=FAULT))
                before = scene.operations
                scene.operations = Operations(
                    RedisStore(connect(first.url, seconds=20)), lambda *_: None
                )
                try:
                    accepted = await submitting
                    await scene.succeeds("one", "two", "three", seconds=90)
                    for job_id in accepted:
                        job = await scene.house.until(scene.operations, job_id, seconds=60)
                        assert job.status is Status.SUCCEEDED
                    assert len(set(accepted)) == 20
                    await scene.paid_once("one", "two", "three")
                    await scene.judge()
                finally:
                    await scene.operations.store.close()
                    scene.operations = before


async def asked_for(client) -> list[str]:
    ids = []
    for number in range(20):
        ids.append(await client.submit_until_told(f"asked-{number}", task="x", model="groq:asked"))
        await asyncio.sleep(0.05)
    return ids
