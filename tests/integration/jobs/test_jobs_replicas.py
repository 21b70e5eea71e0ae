"""Replicas of the job record: WAIT protects acknowledged writes, and without WAIT they can be
lost."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
import redis
from support.jobs.job_examples import JobService, decision, job, lease_of, review
from support.servers import redis_servers

from jobs.errors import StoreUnavailable
from jobs.model.record import Status
from jobs.model.spec import JobSpec
from jobs.service import Submission
from jobs.store import Idempotency, Writes
from jobs.store import commit as store_commit
from jobs.store.redis_store import RedisStore, connect
from lab.drills.chaos.faults.tcp_proxy import BLACK_HOLE, FaultProxy

AT_ONCE = ("--repl-diskless-sync-delay", "0")
PATIENT_MS = 15_000
"""The time limit for a healthy replica, long enough for a busy machine."""


@dataclass(frozen=True)
class Pair:
    """A primary and its replica, and the network between them."""

    primary: redis_servers.RedisServer
    replica: redis_servers.RedisServer
    between: FaultProxy

    def fail_over(self) -> str:
        """Kill the primary and promote the replica. Returns the address of the replica."""
        self.primary.kill()
        with redis.Redis.from_url(self.replica.url) as client:
            client.replicaof("NO", "ONE")
        return self.replica.url


@pytest.fixture
def pair(tmp_path) -> Iterator[Pair]:
    binary = next(iter(redis_servers.binaries().values()))
    with contextlib.ExitStack() as stack:
        start = redis_servers.start
        primary = stack.enter_context(start(binary, tmp_path / "primary", *AT_ONCE, tcp=True))
        between = stack.enter_context(FaultProxy("127.0.0.1", redis_servers.port_of(primary)))
        follows = ("--replicaof", "127.0.0.1", str(between.port))
        replica = stack.enter_context(start(binary, tmp_path / "replica", *follows, tcp=True))
        redis_servers.wait_in_step(replica)
        yield Pair(primary, replica, between)


@contextlib.asynccontextmanager
async def a_service(url: str, replicas: int) -> AsyncIterator[JobService]:
    store = RedisStore(connect(url, seconds=20), replicas)
    yield JobService(store)
    await store.close()


@pytest.mark.invariant("J1")
async def test_a_write_that_was_acknowledged_with_wait_survives_the_primary(
    pair, monkeypatch
) -> None:
    monkeypatch.setattr(store_commit, "REPLICATION_MS", PATIENT_MS)
    async with a_service(pair.primary.url, 1) as service:
        waits = await service.running()
        job(await service.operations.pause(lease_of(waits), review()))
        job(await service.operations.decide(waits.id, decision()))
        running = await service.running()
        await service.store.write(running.id, running.epoch, Writes(journal={"call": b"paid"}))
        version = (await service.record(waits.id)).version
    async with a_service(pair.fail_over(), 0) as service:
        after = await service.record(waits.id)
        assert (after.status, after.version) == (Status.QUEUED, version)
        assert await service.store.journal(running.id) == {"call": b"paid"}


async def test_a_write_without_a_replica_is_not_acknowledged_and_a_repeat_finds_it(
    pair, monkeypatch
) -> None:
    async with a_service(pair.primary.url, 1) as service:
        once, spec = Idempotency("key", "body"), JobSpec("add")
        pair.between.set(BLACK_HOLE)
        # The second request finds the first job, and must wait for the replica as well.
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
                await service.operations.submit("acme", spec, by="ann", idempotency=once)
        pair.between.heal()
        redis_servers.wait_in_step(pair.replica)
        monkeypatch.setattr(store_commit, "REPLICATION_MS", PATIENT_MS)
        again = await service.operations.submit("acme", spec, by="ann", idempotency=once)
        assert isinstance(again, Submission)
        assert (again.is_new, (await service.store.counts())[Status.QUEUED]) == (False, 1)
