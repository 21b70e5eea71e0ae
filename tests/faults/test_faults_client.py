"""A client that is killed: a new process continues with the same job, after the last event."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.processes.fronts import front
from support.processes.scene import TWICE, Scene, Work, until

from fettle import AsyncClient
from settings.base import DEVELOPMENT_KEY

PROGRAM = """
import sys
from fettle import Client

url, key, path, model = sys.argv[1:]
with Client(url, key) as client, open(path, "a+") as log:
    job = client.submit("Write twice.", model=model, labels=["client"], idempotency_key="once")
    log.seek(0)
    numbers = [int(line) for line in log]
    for event in job.events(after=numbers[-1] if numbers else 0):
        print(event.seq, file=log, flush=True)
"""
KILLED_AFTER = (1, 3, 6)
"""The numbers of events after which the client is killed."""


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A client process, which is killed at the end of the block."""
    with subprocess.Popen(command) as client:
        try:
            yield client
        finally:
            client.kill()


async def test_a_killed_client_misses_no_event_and_submits_no_second_job(
    scene: Scene, tmp_path: Path
) -> None:
    log = tmp_path / "log.txt"
    log.touch()
    scene.work["moves"] = Work(TWICE, seconds=1)
    scene.deployment.worker()
    await scene.deployment.ready(seconds=120)
    with front(scene.deployment) as api:
        command = [sys.executable, "-c", PROGRAM, api.url, DEVELOPMENT_KEY, str(log), "groq:moves"]

        def numbers() -> list[int]:
            return [int(line) for line in log.read_text().splitlines()]

        for count in KILLED_AFTER:
            with running(command):
                await until(lambda count=count: len(numbers()) >= count, 120, scene.deployment.logs)
        with running(command) as client:
            await until(lambda: client.poll() is not None, 120, scene.deployment.logs)
        assert client.returncode == 0
        async with AsyncClient(api.url, DEVELOPMENT_KEY) as caller:
            (job,) = [job async for job in caller.jobs(label="client")]
            state = await caller.job(job.id).state()
    assert state.status == "succeeded"
    assert numbers() == list(range(1, state.last_event + 1))
