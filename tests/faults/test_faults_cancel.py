"""Cancels at any moment: either the cancel or the job's end is final, and no event follows it."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from pathlib import Path

import pytest
from support.jobs.job_examples import RESULT, decision, lease_of, review
from support.processes.scene import Scene, Work, processes, sleeps, until

from jobs.model.record import JobRecord, Status
from jobs.service import Operations
from jobs.store import Writes
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions.lifecycle import Refusal
from lab.provider import Hang

CANCELS = 1000
AT_ONCE = 25
STEPS = ("claim", "pause", "decide", "claim again", "succeed")
THROUGH_WORKERS = 60
SPREAD_SECONDS = 0.05
"""The range of the delays of cancels, and the initial range of the delays of steps."""
DEAF = {
    "heartbeat_seconds": "60",
    "lease_seconds": "180",
    "stuck_seconds": "360",
    "worker_seen_seconds": "180",
}
"""Settings for a worker that learns of a cancel only from the message, not from a heartbeat."""
ESTABLISHED = "01"
"""The state of an open connection in /proc/net/tcp."""


@pytest.mark.invariant("J11")
@pytest.mark.timeout(300)
async def test_a_thousand_cancels_race_against_claim_review_and_end(scene: Scene) -> None:
    """On a real Redis, each cancel races against one step of its job. The delays of a step become
    longer when it wins and shorter when it loses, so that both happen on machines of any speed.
    """
    chance = random.Random(11)
    store = RedisStore(connect(scene.deployment.redis_url))
    # These 10,000 writes do not have to survive a crash of Redis.
    await store.redis.config_set("appendfsync", "no")
    operations = Operations(store, lambda *_: None)
    step_delays = dict.fromkeys(STEPS, SPREAD_SECONDS)
    outcomes: Counter[str] = Counter()
    gate = asyncio.Semaphore(AT_ONCE)

    async def race(number: int) -> None:
        name, raced_step = f"raced-{number}", STEPS[number % len(STEPS)]
        async with gate:
            job_id = await scene.submit(name, review=True)
            step_begins = asyncio.Event()
            delays = {raced_step: chance.uniform(0, step_delays[raced_step])}
            last_step, granted = await asyncio.gather(
                run_lifecycle(operations, job_id, delays, step_begins),
                cancel_after(scene, name, chance.uniform(0, SPREAD_SECONDS), step_begins),
            )
            loaded = await scene.deployment.record_of(operations, job_id)
            expected_status = Status.CANCELLED if granted else Status.SUCCEEDED
            assert loaded.status is expected_status, (last_step, granted)
            step_delays[raced_step] *= 0.9 if last_step == raced_step else 1.1
            outcomes[last_step] += 1

    await asyncio.gather(*(race(number) for number in range(CANCELS)))
    await scene.judge()
    await store.close()
    assert min(outcomes[step] for step in (*STEPS, "the end")) > CANCELS / 50, outcomes


async def run_lifecycle(
    operations: Operations, job_id: str, delays: dict[str, float], delay_begins: asyncio.Event
) -> str:
    """Do the steps of a job, as a worker and a person do. `delays` has seconds for one step.
    Returns the step that was refused.
    """
    for step in STEPS:
        if step in delays:
            delay_begins.set()
            await asyncio.sleep(delays[step])
        loaded = await operations.store.load(job_id)
        assert loaded is not None
        lease = lease_of(loaded.record)
        if step.startswith("claim"):
            answer: JobRecord | Refusal = await operations.claim(job_id, "host:1:test")
        elif step == "pause":
            answer = await operations.pause(lease, review())
        elif step == "decide":
            answer = await operations.decide(job_id, decision())
        else:
            answer = await operations.succeed(lease, RESULT, "")
        if isinstance(answer, Refusal):
            assert answer.status is Status.CANCELLED or answer.code == "stale_epoch", answer
            await refused_writes(operations, loaded.record)
            return step
    return "the end"


async def refused_writes(operations: Operations, record: JobRecord) -> None:
    """Redis refuses all writes of a worker that still believes to have the lease."""
    assert not await operations.store.owns(lease_of(record))
    with pytest.raises(Exception, match=record.id):
        await operations.store.write(record.id, record.epoch, Writes(journal={"late": b"x"}))


async def cancel_after(
    scene: Scene, name: str, seconds: float, begin: asyncio.Event | None = None
) -> bool:
    """Cancel a job this number of seconds after `begin`, or after now."""
    if begin:
        await begin.wait()
    await asyncio.sleep(seconds)
    return await scene.cancel(name)


@pytest.mark.invariant("J11")
async def test_cancels_through_real_workers(scene: Scene) -> None:
    """Cancel jobs of two workers at random moments: each job has one end, which is its last
    event.
    """
    chance = random.Random(7)
    scene.deployment.worker(**DEAF)
    scene.deployment.worker(**DEAF)
    await scene.deployment.ready(2)
    names = [f"job-{number}" for number in range(THROUGH_WORKERS)]

    async def submit_and_cancel(name: str) -> bool:
        await scene.submit(name, Work(seconds=0.05))
        return await cancel_after(scene, name, chance.uniform(0, 2.5))

    granted = []
    for start in range(0, len(names), 12):
        granted += await asyncio.gather(*map(submit_and_cancel, names[start : start + 12]))
    for name, won in zip(names, granted, strict=True):
        job = await scene.end(name)
        assert job.status is (Status.CANCELLED if won else Status.SUCCEEDED)
    request_count = sum(map(len, scene.requests_by_model.values()))
    await asyncio.sleep(1)
    assert sum(map(len, scene.requests_by_model.values())) == request_count
    assert any(granted)
    await scene.judge()
    assert scene.deployment.stop_workers() == [0, 0]
    assert "Traceback" not in scene.deployment.logs()
    assert "never retrieved" not in scene.deployment.logs()


@pytest.mark.invariant("J14")
async def test_a_cancel_kills_a_run_within_two_seconds(scene: Scene) -> None:
    """The process of the run ends within two seconds, and the job makes no further model call."""
    seconds = "16.180339"
    scene.deployment.worker(**DEAF)
    await scene.submit("long", Work((sleeps(seconds),)))
    await until(lambda: len(processes(seconds)) == 1, show_details=scene.deployment.logs)
    assert await scene.cancel("long")
    await until(lambda: not processes(seconds), 2, scene.deployment.logs)
    await asyncio.sleep(1.5)
    assert len(scene.requests_by_model["long"]) == 2
    assert "run_finished" not in await scene.event_kinds("long")
    await scene.judge()


async def test_a_cancel_during_a_hanging_model_call(scene: Scene) -> None:
    """The worker abandons the call within two seconds, and its slot is free for the next job."""
    scene.deployment.worker(concurrency="1", **DEAF)
    await scene.submit("hanging", Work(seconds=60))
    await scene.requests("hanging", 1)
    assert len(calls_of(scene)) == 1
    assert await scene.cancel("hanging")
    await until(lambda: not calls_of(scene), 2, scene.deployment.logs)
    await scene.submit("next")
    await scene.wait_for_success("next")
    assert len(scene.requests_by_model["hanging"]) == 1
    await scene.judge()


def calls_of(scene: Scene) -> list[str]:
    """The open connections of callers to the model's server."""
    port = int(scene.deployment.env["FETTLE_GROQ_BASE_URL"].rpartition(":")[2])
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return [at for _, at, _, state, *_ in rows if (at[-4:], state) == (f"{port:04X}", ESTABLISHED)]


async def test_a_cancel_that_a_frozen_worker_misses(scene: Scene) -> None:
    """The worker wakes after the cancels of its jobs and makes no further call. Recorded calls are
    charged, and unanswered calls are not. If an answer arrived during the freeze, the worker may
    read either the answer or the cancel first, so the call may or may not be charged.
    """
    jobs = {
        "on-record": (Work(instead={2: Hang()}), 2, {1}),
        "unanswered": (Work(instead={1: Hang()}), 1, {0}),
        "in-the-socket": (Work(seconds=2), 1, {0, 1}),
    }
    worker = scene.deployment.worker()
    await scene.deployment.ready()
    for name, (work, request_count, _) in jobs.items():
        await scene.submit(name, work)
        await scene.requests(name, request_count)
    worker.send_signal(signal.SIGSTOP)
    for name in jobs:
        assert await scene.cancel(name)
    await asyncio.sleep(scene.lease + 1)  # the answer to "in-the-socket" has arrived
    worker.send_signal(signal.SIGCONT)
    await scene.submit("after")
    await scene.wait_for_success("after")
    await asyncio.sleep(1)
    for name, (_, request_count, charged) in jobs.items():
        assert len(scene.requests_by_model[name]) == request_count, name
        assert (await scene.event_kinds(name))[-1] == "cancelled"
        assert len(await scene.operations.store.charges(scene.ids[name])) in charged, name
    await scene.judge()
