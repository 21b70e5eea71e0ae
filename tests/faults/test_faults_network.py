"""Faulty networks between worker, API, client and Redis: packets are lost, delayed, cut or held."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path

import httpx_sse
import pytest
from support.jobs.job_examples import RESULT
from support.processes.api_process import ApiProcess
from support.processes.deployment import ok
from support.processes.fronts import caller, front
from support.processes.scene import TWICE, Scene, Work, until
from support.servers import redis_servers

from jobs.model.events import EVENTS_AT_ONCE, NewEvent
from jobs.model.record import Status
from jobs.model.spec import JobSpec
from jobs.store import LeaseRef, Writes
from lab.drills.chaos.faults.tcp_proxy import (
    BLACK_HOLE,
    PARTITION,
    Direction,
    FaultProxy,
    NetworkFault,
    Side,
)
from lab.drills.chaos.oplog import Called, Repaired, Struck

LATE = NetworkFault(latency_seconds=0.25)
"""The delay in each direction; an answer takes 500 ms longer."""
LEASE = 5.0
"""The length of a lease. A heartbeat on a connection that is dead on one side hangs for
ANSWER_SECONDS, while the sweeper's connection may work. The lease has to last longer.
"""
FAULTS: dict[str, Callable[[FaultProxy], None]] = {
    "black_hole": lambda proxy: proxy.set(BLACK_HOLE),
    "answers_lost": lambda proxy: proxy.set(BLACK_HOLE, Direction.DOWN),
    "partition": lambda proxy: proxy.set(PARTITION),
    "half_open_server_gone": lambda proxy: proxy.half_open(Side.SERVER),
    "half_open_client_gone": lambda proxy: proxy.half_open(Side.CLIENT),
    "reset": lambda proxy: proxy.reset(),
    "cut": lambda proxy: proxy.set(NetworkFault(cut_after=40), Direction.DOWN),
    "latency": lambda proxy: proxy.set(LATE),
}
SILENT = ("black_hole", "answers_lost", "partition")
"""The connection is dead, but neither side learns of it."""
COUNTED = {
    "half_open_server_gone": "half_open",
    "half_open_client_gone": "half_open",
    "reset": "reset",
    "cut": "cut",
}
"""The counter of the proxy that counts connections with this fault."""


@contextlib.contextmanager
def before_redis(scene: Scene):
    """A faulty network between Redis and its clients."""
    with FaultProxy("127.0.0.1", redis_servers.port_of(scene.deployment.server)) as proxy:
        yield proxy, f"redis://127.0.0.1:{proxy.port}"


@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_a_fault_between_the_only_worker_and_redis(scene: Scene, fault: str) -> None:
    """The fault lasts longer than a lease. There is no other worker, and no crash is counted."""
    scene.lease = LEASE
    with before_redis(scene) as (proxy, url):
        redis_settings = {"redis_url": f"{url}/0", "broker_url": f"{url}/1"}
        scene.deployment.worker(**redis_settings, lease_seconds=str(LEASE))
        await scene.deployment.ready()
        for name in ("one", "two", "three"):
            await scene.submit(name, Work(TWICE, seconds=0.4))
        await scene.requests("three", 1, seconds=60)
        scene.log.add(Struck(fault=fault, blinds=True))
        FAULTS[fault](proxy)
        await asyncio.sleep(LEASE + 1)
        if fault in SILENT:
            await until(
                lambda: "heartbeat missed" in scene.deployment.logs(),
                show_details=scene.deployment.logs,
            )
        elif fault in COUNTED:
            assert proxy.counters()[COUNTED[fault]] > 0
        proxy.heal()
        scene.log.add(Repaired(fault=fault))
        await scene.submit("later", Work())
        await scene.wait_for_success("one", "two", "three", "later", seconds=90)
        for name in ("one", "two", "three"):
            assert "lease_lost" not in await scene.event_kinds(name), name
        if fault == "latency":
            assert longest_pause(scene) > 0.4 + 2 * LATE.latency_seconds, (
                "each write after a call waits"
            )
        await scene.check_paid_once("one", "two", "three", "later")
        await scene.judge()


def longest_pause(scene: Scene) -> float:
    """The longest time between two calls of a job after the fault began."""
    (struck,) = (entry.at.mono for entry in scene.log.entries if isinstance(entry, Struck))
    calls = [entry for entry in scene.log.entries if isinstance(entry, Called)]
    by_job = [[call.at.mono for call in calls if call.key == name] for name in scene.ids]
    return max(
        after - before
        for moments in by_job
        for before, after in pairwise(moments)
        if after > struck
    )


async def test_a_worker_without_network_loses_its_jobs_to_another(scene: Scene) -> None:
    """J4, J5, J8: the other worker continues after the last finished call; Redis refuses the first
    worker's writes.
    """
    with before_redis(scene) as (proxy, url):
        cut_off = scene.deployment.worker(redis_url=f"{url}/0", broker_url=f"{url}/1")
        await scene.deployment.ready()
        await scene.submit("moves", Work(TWICE, seconds=1.5))
        await scene.requests("moves", 2, seconds=60)
        scene.deployment.worker()
        await scene.deployment.ready(2)
        scene.log.add(Struck(fault="worker-kill", pids=(cut_off.pid,)))
        proxy.set(BLACK_HOLE)
        await scene.deployment.wait_for_event(
            scene.operations, scene.ids["moves"], "lease_lost", seconds=30
        )
        await asyncio.sleep(1)
        proxy.heal()
        await scene.wait_for_success("moves")
        record = await scene.deployment.record_of(scene.operations, scene.ids["moves"])
        assert record.attempts == 2
        assert (await scene.event_kinds("moves")).count("run_finished") == 2
        await scene.judge()


@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_a_fault_between_the_api_and_redis(scene: Scene, fault: str) -> None:
    """J1, J2: a repeated request with the same key creates one job, and no client waits long."""
    with (
        before_redis(scene) as (proxy, url),
        front(scene.deployment, redis_url=f"{url}/0", broker_url=f"{url}/1") as api,
    ):
        async with caller(api.url, scene.log) as client:
            await client.submit_until_accepted("before", task="x")
            FAULTS[fault](proxy)
            took, status_codes = [], []
            for number in range(2):
                started_at = time.monotonic()
                answer = await client.submit(f"amid-{number}", task="x")
                took.append(time.monotonic() - started_at)
                assert answer is not None, "the API itself is there"
                status_codes.append(answer.status_code)
            assert max(took) < 8, took
            if fault in SILENT:
                assert status_codes == [503, 503]
            elif fault in COUNTED:
                assert set(status_codes) <= {202, 503}
                assert proxy.counters()[COUNTED[fault]] > 0
            else:
                assert min(took) >= 2 * LATE.latency_seconds
            proxy.heal()
            ids = [
                await client.submit_until_accepted(key, task="x")
                for key in ("before", "amid-0", "amid-1")
            ]
            counts = await scene.operations.store.counts()
            assert (len(set(ids)), counts[Status.QUEUED]) == (3, 3)
            for job_id in ids:
                await client.cancel(job_id)
    await scene.judge()


def api_port(api: ApiProcess) -> int:
    return int(api.url.rsplit(":", 1)[1])


def resident_bytes(api: ApiProcess) -> int:
    """The resident memory of the process in bytes."""
    pages = int(Path(f"/proc/{api.process.pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


async def read_all(url: str, job_id: str, after: int = 0) -> AsyncIterator[int]:
    async with caller(url) as reader:
        headers = {"Last-Event-ID": str(after)}
        async with httpx_sse.aconnect_sse(
            reader.client, "GET", f"/jobs/{job_id}/events", headers=headers
        ) as source:
            async for event in source.aiter_sse():
                yield int(event.id)


async def test_slow_readers_delay_no_other_reader_and_fill_no_memory(scene: Scene) -> None:
    """20 readers take 2 KB/s from a job with 20 MB of events. Other readers get all events at once.
    A slow reader that connects again continues after its last event.
    """
    facts, size = 1_000, 20_000
    job_id = await scene.deployment.submit(scene.operations, JobSpec(task="talks"))
    lease = LeaseRef(job_id, ok(await scene.operations.claim(job_id, "test")).epoch)
    with front(scene.deployment) as api, FaultProxy("127.0.0.1", api_port(api)) as proxy:
        slow_url = f"http://127.0.0.1:{proxy.port}"
        proxy.set(NetworkFault(bytes_per_second=2_000), Direction.DOWN)
        received: dict[int, list[int]] = {number: [] for number in range(20)}

        async def follow_slowly(number: int) -> None:
            async for seq in read_all(slow_url, job_id):
                received[number].append(seq)

        slow = [asyncio.create_task(follow_slowly(number)) for number in received]
        async with asyncio.timeout(60):
            while not all(received.values()):
                await asyncio.sleep(0.05)
        before = resident_bytes(api)
        quick = asyncio.create_task(collected(api.url, job_id))
        for number in range(facts):
            fact = NewEvent(f"s{number}", "summarized", {"text": "x" * size})
            await scene.operations.store.write(job_id, lease.epoch, Writes(events=[fact]))
        ok(await scene.operations.succeed(lease, RESULT, ""))
        all_numbers = list(range(1, facts + 4))
        assert await asyncio.wait_for(quick, 60) == all_numbers, "who keeps up has it all"
        grown = resident_bytes(api) - before
        # the memory depends on the size of a chunk, not on the length of the job (400 MB)
        most = 20 * EVENTS_AT_ONCE * size * 4 + 32 * 2**20
        assert grown < most, f"{grown / 2**20:.0f} MiB for 20 slow readers"
        assert all(len(numbers) < facts for numbers in received.values()), "they are slow"
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        last = received[0][-1]
        assert [seq async for seq in read_all(api.url, job_id, last)] == all_numbers[last:]


async def collected(url: str, job_id: str) -> list[int]:
    return [seq async for seq in read_all(url, job_id)]
