"""A worker that receives a stop signal releases its jobs in order and ends within a time limit."""

from __future__ import annotations

import asyncio
import signal
import time

import pytest
from support.processes.scene import TWICE, Scene, Work, processes, sleeps, until

from jobs.model.record import Status
from jobs.store.redis_store import RedisStore
from worker.slots import HAND_OVER_SECONDS

ROLLS = 20
IGNORES = "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "


@pytest.mark.invariant("J7")
@pytest.mark.timeout(300)
async def test_rolling_stops_under_load(scene: Scene) -> None:
    """Start a new worker and stop the oldest, 20 times: no job is lost, and no call is repeated."""
    line = [scene.deployment.worker(), scene.deployment.worker()]
    await scene.deployment.ready(2)
    enough = asyncio.Event()
    loading = asyncio.create_task(load(scene, enough))
    codes = []
    for roll in range(ROLLS):
        line.append(scene.deployment.worker())
        await scene.deployment.ready(3 + roll)
        oldest = line.pop(0)
        oldest.send_signal(signal.SIGTERM)
        stopped_at = time.monotonic()
        await until(lambda worker=oldest: worker.poll() is not None, 20, scene.deployment.logs)
        assert time.monotonic() - stopped_at < 5 + HAND_OVER_SECONDS + 5
        codes.append(oldest.returncode)
    enough.set()
    names = await loading
    await scene.wait_for_success(*names, seconds=120)
    assert codes == [0] * ROLLS
    handed_on = 0
    for name in names:
        kinds = await scene.event_kinds(name)
        assert "lease_lost" not in kinds
        handed_on += kinds.count("given_back")
    assert handed_on >= ROLLS / 2  # the load reached the stopped workers
    verdict = await scene.judge()
    assert verdict.repeated_paid_calls == 0


async def load(scene: Scene, enough: asyncio.Event) -> list[str]:
    """Submit jobs regularly, so that each stop interrupts work. Returns the names of the jobs."""
    names = []
    while not enough.is_set():
        names.append(f"job-{len(names)}")
        await scene.submit(names[-1], Work(TWICE, seconds=0.7))
        await asyncio.sleep(0.6)
    return names


@pytest.mark.invariant("J14")
async def test_a_run_that_ignores_the_stop(scene: Scene) -> None:
    """Code cannot keep a worker alive: after the time limit the sandbox ends, and the job is
    queued.
    """
    seconds = "27.18281"
    worker = scene.deployment.worker(drain_seconds="1")
    await scene.submit("stubborn", Work((IGNORES + sleeps(seconds),)))
    await until(lambda: len(processes(seconds)) == 1, show_details=scene.deployment.logs)
    stopped_at = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    await until(lambda: worker.poll() is not None, 1 + HAND_OVER_SECONDS + 5, scene.deployment.logs)
    assert time.monotonic() - stopped_at >= 1  # the run had its full time
    assert worker.returncode == 0
    assert not processes(seconds)
    record = await scene.deployment.record_of(scene.operations, scene.ids["stubborn"])
    assert (record.status, record.crashes) == (Status.QUEUED, 0)
    assert len(scene.requests_by_model["stubborn"]) == 2
    assert await scene.cancel("stubborn")
    await scene.judge()


@pytest.mark.invariant("J14")
async def test_a_second_stop_ends_the_worker_at_once(scene: Scene) -> None:
    """The worker and its sandboxes end at once. The job continues after its lease has expired."""
    seconds = "4.1231056"
    worker = scene.deployment.worker(drain_seconds="60")
    work = Work((TWICE[0], sleeps(seconds)))
    await scene.submit("hurried", work)
    await until(lambda: len(processes(seconds)) == 1, show_details=scene.deployment.logs)
    (pid,) = processes(seconds)
    worker.send_signal(signal.SIGTERM)
    await asyncio.sleep(1.5)  # two signals within a second count as one
    assert worker.poll() is None
    worker.send_signal(signal.SIGTERM)
    await until(lambda: worker.poll() is not None, 2, scene.deployment.logs)
    assert worker.returncode == 128 + signal.SIGTERM
    await until(lambda: pid not in processes(seconds), 2)
    await scene.replace_worker()
    await scene.wait_for_success("hurried")
    assert len(scene.requests_by_model["hurried"]) == work.calls
    kinds = await scene.event_kinds("hurried")
    assert (kinds.count("lease_lost"), kinds.count("run_finished")) == (1, 2)
    await scene.judge()


async def test_a_drain_request_stops_a_worker_like_a_signal(scene: Scene) -> None:
    """After a drain request through Redis, the worker releases its jobs, and no crash is
    counted.
    """
    first = scene.deployment.worker()
    await scene.deployment.ready()
    await scene.submit("moved", Work(TWICE, seconds=0.5))
    await scene.requests("moved", 2)
    store = scene.operations.store
    assert isinstance(store, RedisStore)
    assert not await store.request_drain("nobody")
    (worker_status,) = await store.workers()
    scene.deployment.worker()
    assert await store.request_drain(worker_status["id"])
    await until(lambda: first.poll() is not None, 20, scene.deployment.logs)
    assert first.returncode == 0
    await scene.wait_for_success("moved")
    assert "lease_lost" not in await scene.event_kinds("moved")
    assert worker_status["id"] not in [status["id"] for status in await store.workers()]
    await scene.judge()


async def test_a_stop_during_a_hanging_model_call(scene: Scene) -> None:
    """A model that does not answer cannot delay the stop: the worker abandons the call and releases
    the job.
    """
    worker = scene.deployment.worker(drain_seconds="1")
    await scene.submit("hanging", Work(seconds=60))
    await scene.requests("hanging", 1)
    worker.send_signal(signal.SIGTERM)
    await until(lambda: worker.poll() is not None, 1 + HAND_OVER_SECONDS + 5, scene.deployment.logs)
    assert worker.returncode == 0
    assert (await scene.event_kinds("hanging"))[-1] == "given_back"
    scene.work["hanging"] = Work()
    scene.deployment.worker()
    await scene.wait_for_success("hanging")
    verdict = await scene.judge()
    assert verdict.repeated_in_flight == 1
