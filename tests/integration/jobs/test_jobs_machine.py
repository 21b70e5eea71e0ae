"""Whatever is done to jobs in a real Redis, in any order, the invariants hold."""

from __future__ import annotations

import json

import pytest
import redis
from hypothesis.stateful import run_state_machine_as_test
from support.jobs.job_machine import JobMachine, walks

from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.store.redis_store import RedisStore, connect


@pytest.fixture
def machine(redis_url):
    class RedisMachine(JobMachine):
        def open_store(self):
            with redis.Redis.from_url(redis_url) as client:
                client.flushall()
            return RedisStore(connect(redis_url, seconds=20))

        async def come_due(self, record):
            past = await self.service.store.now() - 1
            client = self.service.store.redis
            if record.due_at > past:
                await client.hset(JobKeys(record.id).record, "due_at", past)
                await client.zadd(keys.DUE, {record.id: past})

        async def come_overdue(self, record):
            past = await self.service.store.now() - 1
            client, name = self.service.store.redis, JobKeys(record.id).record
            state = json.loads(await client.hget(name, "state"))
            state["review"]["expires_at"] = past
            await client.hset(name, "state", json.dumps(state))
            await client.zadd(keys.AWAITING_REVIEW, {record.id: past})

        async def indexes(self):
            client, found = self.service.store.redis, {}
            for name in (keys.DUE, keys.AWAITING_REVIEW, keys.FINISHED):
                scores = dict(await client.zrange(name, 0, -1, withscores=True))
                found[name.removeprefix(keys.PREFIX)] = {job.decode() for job in scores}
                if name == keys.DUE:
                    for job, score in scores.items():
                        assert (await self.service.record(job.decode())).due_at == score
            return found

        async def left_of(self, job_id):
            # its conversation bears its id, and other jobs may still belong to that
            found = await self.service.store.redis.keys(f"{keys.JOB}{job_id}*")
            return sorted(key.decode() for key in found)

    return RedisMachine


@pytest.mark.invariant("J3")
def test_the_invariants_hold_through_every_walk(machine):
    run_state_machine_as_test(machine, settings=walks(24, 35))
