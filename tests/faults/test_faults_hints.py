"""Hints that are repeated, late or unnecessary, and a worker with a wrong clock."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.processes.scene import Scene, Work

from jobs.model.record import Status
from jobs.model.spec import Priority
from jobs.queue.hints import Hints

COPIES = 8
HOUR = 3600
FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"


@pytest.mark.invariant("J4")
async def test_copies_of_one_hint_make_one_attempt(scene: Scene) -> None:
    """Send eight copies of a hint before two workers start, and eight more while the job runs."""
    job_id = await scene.submit("copied", Work(seconds=0.2))
    hints = Hints(scene.deployment.broker_url)
    for _ in range(COPIES):
        hints.send(job_id, Priority.NORMAL)
    scene.deployment.worker()
    scene.deployment.worker()
    await scene.requests("copied", 2)
    for _ in range(COPIES):
        hints.send(job_id, Priority.NORMAL)
    await scene.wait_for_success("copied")
    hints.close()
    assert (await scene.end("copied")).attempts == 1
    assert (await scene.event_kinds("copied")).count("started") == 1
    await scene.check_paid_once("copied")
    await scene.judge()
    assert scene.deployment.stop_workers() == [0, 0]
    assert "Traceback" not in scene.deployment.logs()


@pytest.mark.invariant("J6")
async def test_hints_for_jobs_that_cannot_run(scene: Scene) -> None:
    """Hints for a job that has ended, was cancelled, waits for a person, or does not exist."""
    scene.deployment.worker()
    await scene.submit("ended")
    await scene.submit("asks", review=True)
    await scene.submit("cancelled", Work(seconds=5))
    await scene.requests("cancelled", 1)
    assert await scene.cancel("cancelled")
    await scene.wait_for_success("ended")
    await scene.deployment.until(scene.operations, scene.ids["asks"], Status.AWAITING_REVIEW)
    before = {name: await scene.event_kinds(name) for name in scene.ids}
    request_counts = {name: len(requests) for name, requests in scene.requests_by_model.items()}
    hints = Hints(scene.deployment.broker_url)
    for job_id in (*scene.ids.values(), "no-such-job", "", "../../etc", "j" * 5000):
        for _ in range(COPIES):
            hints.send(job_id, Priority.HIGH)
    hints.close()
    await scene.submit("after")  # the hint of this job comes last, because its priority is lower
    await scene.wait_for_success("after")
    assert {name: await scene.event_kinds(name) for name in before} == before
    assert {name: len(scene.requests_by_model[name]) for name in request_counts} == request_counts
    await scene.judge()
    assert scene.deployment.stop_workers() == [0]
    assert "Traceback" not in scene.deployment.logs()


@pytest.mark.invariant("J8")
@pytest.mark.parametrize("hours", [1, -1])
async def test_a_worker_with_a_wrong_clock(scene: Scene, hours: int) -> None:
    """The worker keeps its lease. If it is killed, another worker takes its jobs in time. Jobs are
    swept and removed at the right time, because workers use the clock of Redis.
    """
    scene.deployment.env["FETTLE_CONCURRENCY"] = "3"  # so each worker takes half of six jobs
    sound = scene.deployment.worker()
    await scene.deployment.ready()
    await scene.submit("before")
    await scene.wait_for_success("before")
    scene.deployment.env |= wrong_clock(hours * HOUR)
    off = scene.deployment.worker()
    await scene.deployment.ready(2)
    assert abs(clock_error(scene, off.pid) - hours * HOUR) < 60  # the worker uses the wrong clock
    names = [f"during-{number}" for number in range(6)]
    for name in names:
        await scene.submit(name, Work(("import time; time.sleep(3); print('x')",)))
    await scene.wait_for_success(*names)
    first_workers = {await started_by(scene, name) for name in names}
    assert off.pid in first_workers
    assert {(await scene.end(name)).attempts for name in names} == {1}  # longer than a lease
    await scene.check_paid_once("before", *names)
    more = [f"more-{number}" for number in range(6)]
    for name in more:
        await scene.submit(name, Work(seconds=1.0))
    await scene.requests(more[-1], 2)
    scene.kill(off)
    await scene.wait_for_success(*more)
    verdict = await scene.judge()
    assert verdict.recoveries  # the killed worker held at least one job
    for name in scene.ids:
        record = await scene.end(name)
        assert abs(record.finished_at / 1000 - datetime.now(UTC).timestamp()) < 120
    assert sound.poll() is None


def wrong_clock(seconds: int) -> dict[str, str]:
    """The environment of a process with a wrong wall clock (Debian package libfaketime)."""
    (library,) = Path("/").glob(FAKETIME.lstrip("/"))
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"{seconds:+d}",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DISABLE_SHM": "1",
    }


def clock_error(scene: Scene, pid: int) -> float:
    """The error of a worker's clock in seconds, according to its last log entry."""
    log = next(
        path
        for path in scene.deployment.folder.glob("worker-*.log")
        if f":{pid}:" in path.read_text()
    )
    logged_at = json.loads(log.read_text().splitlines()[-1])["timestamp"]
    return datetime.fromisoformat(logged_at).timestamp() - datetime.now(UTC).timestamp()


async def started_by(scene: Scene, name: str) -> int:
    """The worker that had the job's first attempt."""
    events = await scene.operations.store.events(scene.ids[name])
    return next(int(e.data["worker"].split(":")[1]) for e in events if e.kind == "started")
