"""The Docker engine is killed during a run, and the containers of killed workers are removed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import docker
import pytest
from support.processes.scene import TWICE, Scene, Work
from support.servers import docker_engine as engines

from sandbox.docker.garbage_collection import OWNER

pytestmark = pytest.mark.skipif(
    not engines.OWN, reason="NOT tested: an engine that is killed has to be our own; run as root"
)
IMAGE = "sandboxes-without-libraries"
SLOW = "import time; time.sleep(3); print('slow')"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[engines.Engine]:
    """A Docker engine for these tests, with an image that contains only the interpreter."""
    bare = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    with engines.started({}) as new_engine:
        engines.build(new_engine.host, IMAGE, FETTLE_SANDBOX_ENVIRONMENT=str(bare))
        yield new_engine


@pytest.fixture
def engine_client(engine: engines.Engine) -> Iterator[docker.DockerClient]:
    client = docker.DockerClient(base_url=engine.host)
    yield client
    client.close()


@pytest.fixture
def docked(scene: Scene, engine: engines.Engine) -> Scene:
    """A deployment with workers that run code in containers of the engine."""
    scene.deployment.env |= {
        "FETTLE_SANDBOX": "docker",
        "FETTLE_SANDBOX_ENGINE": engine.host,
        "FETTLE_SANDBOX_IMAGE": IMAGE,
    }
    return scene


async def test_an_engine_killed_during_a_run(docked: Scene, engine: engines.Engine) -> None:
    """The job loses no try and repeats no call. Without its engine, the worker takes no job."""
    assert engine.folder is not None
    docked.deployment.worker()
    await docked.deployment.ready(seconds=60)
    await docked.submit("ran", Work((TWICE[0], SLOW)))
    await docked.requests("ran", 3, seconds=60)
    await asyncio.sleep(1)
    os.kill(int((engine.folder / "pid").read_text()), signal.SIGKILL)
    await docked.deployment.wait_for_event(
        docked.operations, docked.ids["ran"], "given_back", seconds=60
    )
    await docked.submit("waits")
    await asyncio.sleep(2)
    record = await docked.deployment.record_of(docked.operations, docked.ids["ran"])
    assert (record.retries, record.crashes) == (0, 0)
    assert "started" not in await docked.event_kinds("waits")
    start = ("engine.sh", "start", str(engine.folder), str(os.getpid()))
    await asyncio.to_thread(engines.script, *start)
    await docked.wait_for_success("ran", "waits", seconds=120)
    await docked.check_paid_once("ran", "waits")
    await docked.judge()


def sandboxes(engine_client: docker.DockerClient) -> list[str]:
    """The ids of all containers that workers started."""
    return [
        container["Id"]
        for container in engine_client.api.containers(all=True, filters={"label": OWNER})
    ]
