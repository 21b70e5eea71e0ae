"""A sandbox that fails during a job, and the sandbox processes of a killed worker."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import pytest
from support.processes.scene import TWICE, Scene, Work, processes, sleeps, until

from jobs.model.record import Reason, Status

GRACE_SECONDS = 10.0
"""The longest time in seconds that processes of a killed worker may live (J14)."""


async def test_a_supervisor_killed_during_a_run(scene: Scene) -> None:
    """The run is repeated in another sandbox; neither the job nor the model sees the failure."""
    seconds = "4.4721359"
    scene.deployment.worker()
    work = Work((TWICE[0], sleeps(seconds)))
    await scene.submit("ran", work)
    await until(lambda: len(processes(seconds)) == 1, show_details=scene.deployment.logs)
    (sandbox,) = processes(seconds)
    supervisor = scene.deployment.child_of_worker("sandbox.local")
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    await until(lambda: sandbox not in processes(seconds), 3)
    await scene.wait_for_success("ran")
    assert (await scene.end("ran")).attempts == 1
    await scene.check_paid_once("ran")
    await scene.judge()


async def test_a_supervisor_that_dies_during_every_run(scene: Scene) -> None:
    """A failure of the sandbox is never a failure of the code: the job rests, and is tried
    again.
    """
    seconds = "12.449899"
    scene.deployment.worker(retry_seconds="0.1", retries="3")
    await scene.submit("unlucky", Work((sleeps(seconds),)))
    killing = asyncio.create_task(kill_supervisors(scene, seconds))
    job = await scene.end("unlucky", seconds=120)
    killing.cancel()
    assert (job.status, job.reason) == (Status.FAILED, Reason.SANDBOX_UNAVAILABLE)
    kinds = await scene.event_kinds("unlucky")
    assert (kinds.count("given_back"), kinds.count("run_finished")) == (3, 0)
    assert kinds.count("model_called") == len(scene.requests_by_model["unlucky"]) == 2
    assert not processes(seconds)
    await scene.submit("after")
    await scene.wait_for_success("after")
    await scene.judge()


async def kill_supervisors(scene: Scene, seconds: str) -> None:
    """Kill the worker's supervisor whenever the run with `sleep SECONDS` is active."""
    while True:
        if processes(seconds) and (supervisor := scene.deployment.child_of_worker("sandbox.local")):
            with contextlib.suppress(ProcessLookupError):
                os.kill(supervisor, signal.SIGKILL)
        await asyncio.sleep(0.1)


@pytest.mark.invariant("J14")
async def test_a_killed_worker_leaves_no_process(scene: Scene) -> None:
    """Eight parallel runs each start a daemon. The supervisor is killed with its worker, so no
    process remains to clean up. The sandboxes of another worker continue.
    """
    doomed_seconds, bystander_seconds = "31.622776", "33.166247"
    doomed = scene.deployment.worker(concurrency="8")  # so that another worker takes the other run
    await scene.deployment.ready()
    sleep = f"['/bin/sleep', '{doomed_seconds}']"
    daemon = f"import subprocess; subprocess.Popen({sleep}, start_new_session=True)"
    names = [f"left-{number}" for number in range(8)]
    for name in names:
        await scene.submit(name, Work((f"{daemon}; {sleeps(doomed_seconds)}",)))
    await until(lambda: len(processes(doomed_seconds)) == 16, 60, scene.deployment.logs)
    bystander = scene.deployment.worker()
    await scene.deployment.ready(2)
    await scene.submit("other", Work((sleeps(bystander_seconds),)))
    await until(lambda: len(processes(bystander_seconds)) == 1, 60, scene.deployment.logs)
    family = descendants(doomed.pid)
    assert len(family) > 16
    supervisor = next(pid for pid in family if "sandbox.local" in command(pid))
    doomed.send_signal(signal.SIGSTOP)  # so that neither process can react to the end of the other
    os.kill(supervisor, signal.SIGKILL)
    scene.kill(doomed)
    await until(lambda: not (family & set(map(int, alive()))), GRACE_SECONDS)
    assert len(processes(bystander_seconds)) == 1
    assert bystander.poll() is None
    for name in (*names, "other"):
        assert await scene.cancel(name)
    await until(lambda: not processes(doomed_seconds) and not processes(bystander_seconds), 10)
    await scene.judge()


def descendants(top: int) -> set[int]:
    """All descendants of a process."""
    parents = {}
    for pid in alive():
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_text()
            parents[int(pid)] = int(stat.rpartition(")")[2].split()[1])
    family = {top}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    return family - {top}


def alive() -> list[str]:
    """The pids of the processes that have not ended."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                pids.append(process.name)
    return pids


def command(pid: int) -> list[str]:
    """The arguments of a process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return []
