"""The backend `docker` when its engine, its containers or its worker fail.

The contract suite tests runs. These tests kill an engine, so they start one; Docker's own library
lists its containers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import docker
import pytest
from support.servers import docker_engine as engines

from sandbox import policy
from sandbox.docker import DockerSandbox, runtime_trial
from sandbox.docker.garbage_collection import OWNER
from sandbox.protocol import MIB, Command, End, Limits, PoolCount, SandboxUnavailable

TOP = Path(__file__).resolve().parents[3]
BARE = "sandboxes-without-libraries"
QUICK = Limits(wall_seconds=30.0)
HELLO = Command.python("print('hello')")
SLEEP = "import time; time.sleep(60)"


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Iterator[engines.Engine]:
    """An engine with a second runtime that fails each fourth time."""
    folder = tmp_path_factory.mktemp("engine")
    flaky = folder / "flaky"
    flaky.write_text(
        "#!/bin/sh\n"
        'case "$*" in *" create "*) exec 9>>"$0.count"; flock 9; echo x >&9; '
        '[ $(($(wc -l <"$0.count") % 4)) -ne 0 ] || exit 1; exec 9>&-;; esac\n'
        'exec runc "$@"\n'
    )
    flaky.chmod(0o755)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    with engines.started({"runtimes": {"flaky": {"path": str(flaky)}}}) as engine:
        engines.build(engine.host, BARE, FETTLE_SANDBOX_ENVIRONMENT=str(folder / "venv"))
        yield engine


@pytest.fixture
def client(engine) -> Iterator[docker.DockerClient]:
    client = docker.DockerClient(base_url=engine.host)
    yield client
    client.close()


@pytest.fixture
def sandbox(engine) -> Callable:
    @asynccontextmanager
    async def make_backend(image: str = BARE, **options) -> AsyncIterator[DockerSandbox]:
        backend = DockerSandbox(image, **{"engine": engine.host, "pool_size": 1, **options})
        try:
            yield backend
        finally:
            await backend.close()

    return make_backend


def sandboxes(client: docker.DockerClient) -> list[str]:
    # Not `client.containers.list`: it requests each container again, which may be removed by then.
    return [it["Id"] for it in client.api.containers(all=True, filters={"label": OWNER})]


async def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    """Wait for the condition; returns whether it holds in the end."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    return bool(condition())


async def all_removed(client: docker.DockerClient) -> bool:
    return await wait_for(lambda: not sandboxes(client))


async def test_a_container_is_used_once_and_replaced(sandbox, client) -> None:
    async with sandbox() as backend:
        await backend.wait_until_warm()
        (first,) = sandboxes(client)
        code = "import os; print(os.listdir('/tmp')); open('/tmp/mine', 'w').close()"
        outputs = {(await backend.run(Command.python(code), QUICK)).stdout.text for _ in range(2)}
        assert len(outputs) == 1
        assert "mine" not in outputs.pop()
        await backend.wait_until_warm()
        assert backend.pool == PoolCount(ready=1, making=0, target=1)
        assert await wait_for(lambda: first not in sandboxes(client))
    assert sandboxes(client) == []


async def test_a_ready_container_takes_the_limits_of_its_run(sandbox) -> None:
    allocate = "x = bytearray(b'x') * (180 << 20)\nprint('allocated')"
    bomb = Command.python(
        "import os, time\nn = 0\ntry:\n    while n < 90:\n        if not os.fork(): time.sleep(9)\n"
        "        n += 1\nexcept BlockingIOError: print(n)"
    )
    async with sandbox() as backend:
        await backend.wait_until_warm()
        assert (await backend.run(Command.python(allocate), QUICK)).stdout.text == "allocated\n"
        await backend.wait_until_warm()
        small = Limits(memory_bytes=100 * MIB, wall_seconds=30.0)
        allocate_and_wait = Command.python(f"{allocate}\nimport time; time.sleep(20)")
        assert (await backend.run(allocate_and_wait, small)).end is End.MEMORY
        await backend.wait_until_warm()
        assert (await backend.run(bomb, Limits(processes=10))).stdout.text == "9\n"


async def test_a_paused_container_is_killed_at_the_deadline(sandbox, client, monkeypatch) -> None:
    monkeypatch.setattr(policy, "GRACE_SECONDS", 0.5)
    async with sandbox() as backend:
        await backend.wait_until_warm()
        (container,) = sandboxes(client)
        client.api.pause(container)
        result = await backend.run(Command.python(SLEEP), Limits(wall_seconds=0.5))
        assert result.end is End.TIMEOUT
        assert container not in sandboxes(client)


async def test_a_missing_engine_is_reported_by_runs_and_checks(sandbox, tmp_path) -> None:
    async with sandbox(engine=f"unix://{tmp_path}/none.sock") as backend:
        for _ in range(2):
            with pytest.raises(SandboxUnavailable, match="no Docker engine answers"):
                await backend.run(HELLO, QUICK)
        with pytest.raises(SandboxUnavailable, match="no Docker engine answers"):
            await backend.check()


async def test_a_missing_image_is_reported_with_the_command_that_builds_it(sandbox) -> None:
    async with sandbox("no-such-image") as backend:
        with pytest.raises(SandboxUnavailable, match=r"Build it: deploy/sandbox-image\.sh no-such"):
            await backend.run(HELLO, QUICK)


async def test_an_engine_that_dies_during_a_run_is_reported_and_used_again(engine, sandbox) -> None:
    async with sandbox() as backend:
        await backend.wait_until_warm()
        running = asyncio.create_task(backend.run(Command.python(SLEEP), Limits(wall_seconds=90)))
        await asyncio.sleep(0.5)
        os.kill(int((engine.folder / "pid").read_text()), signal.SIGKILL)
        with pytest.raises(SandboxUnavailable, match="no Docker engine answers"):
            await running
        with pytest.raises(SandboxUnavailable, match="no Docker engine answers"):
            await backend.run(HELLO, QUICK)
        await asyncio.to_thread(
            engines.script, "engine.sh", "start", str(engine.folder), str(os.getpid())
        )
        assert (await backend.run(HELLO, QUICK)).stdout.text == "hello\n"
        await backend.wait_until_warm()
        assert backend.pool.ready == 1


WORKER = """
import asyncio, sys
from sandbox import policy
from sandbox.docker import DockerSandbox, runtime_trial
from sandbox.protocol import Command, Limits
async def work():
    backend = DockerSandbox(sys.argv[1], engine=sys.argv[2], pool_size=2)
    await backend.wait_until_warm()
    print('ready', flush=True)
    await backend.run(Command.python(sys.argv[3]), Limits(wall_seconds=60))
asyncio.run(work())
"""


@pytest.fixture
def worker(engine) -> Iterator[Callable]:
    """Starts a worker process and kills it a second after its run began."""
    processes = []

    def start_and_kill(code: str, before_kill: Callable[[], None] = lambda: None) -> None:
        command = [sys.executable, "-c", WORKER, BARE, engine.host, code]
        process = subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE)
        processes.append(process)
        assert process.stdout.readline() == b"ready\n"
        time.sleep(1)
        before_kill()
        process.kill()
        process.wait()

    yield start_and_kill
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


async def test_containers_end_by_themselves_with_their_worker(worker, client) -> None:
    worker(SLEEP)
    assert await all_removed(client)


async def test_frozen_containers_are_removed_by_the_next_worker(worker, client, sandbox) -> None:
    def freeze() -> None:
        for container in sandboxes(client):
            with contextlib.suppress(docker.errors.APIError):  # it is being made or removed
                client.api.pause(container)

    worker(SLEEP, freeze)
    await asyncio.sleep(1)
    assert sandboxes(client)
    async with sandbox(pool_size=0) as backend:
        assert (await backend.run(HELLO, QUICK)).succeeded
        assert await all_removed(client)


async def test_an_unknown_runtime_is_reported(sandbox) -> None:
    async with sandbox(runtime="kata-runtime") as backend:
        with pytest.raises(SandboxUnavailable, match=r"no runtime 'kata-runtime'.*daemon"):
            await backend.run(HELLO, QUICK)


async def test_a_runtime_that_fails_its_trial_is_not_used(sandbox, client, monkeypatch) -> None:
    monkeypatch.setattr(runtime_trial, "RUNS", 10)
    async with sandbox(runtime="flaky") as backend:
        with pytest.raises(SandboxUnavailable, match=r"flaky failed [1-4] of 10 runs"):
            await backend.run(HELLO, QUICK)
    assert sandboxes(client) == []


async def test_closing_ends_running_runs(sandbox, client) -> None:
    for wait in (0.01, 0.5, 1.5):  # possibly while its container is made; while it runs
        async with sandbox(pool_size=0) as backend:
            running = asyncio.create_task(backend.run(Command.python(SLEEP), QUICK))
            await asyncio.sleep(wait)
            await backend.close()
            with pytest.raises(SandboxUnavailable, match="closed"):
                await running
            assert sandboxes(client) == []
