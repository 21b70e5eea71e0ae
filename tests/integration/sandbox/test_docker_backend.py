"""The backend `docker`, and what may befall its engine, its containers and its worker.

What a run does is told by the contract suite. Here an engine is killed, so it is one of our own;
what it holds is looked at with Docker's own library.
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
from support.servers.engine_relay import relayed

from sandbox import policy
from sandbox.docker import DockerSandbox, container, container_events, profile, session, trial
from sandbox.docker.garbage_collection import MARK, OWNER
from sandbox.protocol import MIB, Command, End, Limits, PoolCount, SandboxUnavailable

TOP = Path(__file__).resolve().parents[3]
BARE = "sandboxes-without-libraries"
QUICK = Limits(wall_seconds=30.0)
HELLO = Command.python("print('hello')")
SLEEP = "import time; time.sleep(60)"


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Iterator[engines.Engine]:
    """An engine with a second runtime, which fails now and then."""
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
    with engines.started({"runtimes": {"flaky": {"path": str(flaky)}}}) as own:
        engines.build(own.host, BARE, FETTLE_SANDBOX_ENVIRONMENT=str(folder / "venv"))
        yield own


@pytest.fixture
def looking(engine) -> Iterator[docker.DockerClient]:
    client = docker.DockerClient(base_url=engine.host)
    yield client
    client.close()


@pytest.fixture
def sandbox(engine) -> Callable:
    @asynccontextmanager
    async def made(image: str = BARE, **options) -> AsyncIterator[DockerSandbox]:
        backend = DockerSandbox(image, **{"engine": engine.host, "pool_size": 1, **options})
        try:
            yield backend
        finally:
            await backend.close()

    return made


def sandboxes(looking: docker.DockerClient) -> list[str]:
    # Not `looking.containers.list`: it asks for each once more, and one may have gone meanwhile.
    return [each["Id"] for each in looking.api.containers(all=True, filters={"label": OWNER})]


def at_work(looking: docker.DockerClient) -> list[str]:
    return [each["Id"] for each in looking.api.containers(filters={"label": OWNER})]


async def come_to_be(true: Callable[[], object], seconds: float = 20.0) -> bool:
    """Whether it is so in the end."""
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        await asyncio.sleep(0.05)
    return bool(true())


async def none_left(looking: docker.DockerClient) -> bool:
    return await come_to_be(lambda: not sandboxes(looking))


async def test_a_container_is_used_once_and_replaced(sandbox, looking) -> None:
    async with sandbox() as backend:
        await backend.warmed()
        (first,) = sandboxes(looking)
        code = "import os; print(os.listdir('/tmp')); open('/tmp/mine', 'w').close()"
        said = {(await backend.run(Command.python(code), QUICK)).stdout.text for _ in range(2)}
        assert len(said) == 1
        assert "mine" not in said.pop()
        await backend.warmed()
        assert backend.pool == PoolCount(ready=1, making=0, wanted=1)
        assert await come_to_be(lambda: first not in sandboxes(looking))
    assert sandboxes(looking) == []


async def test_what_stands_ready_is_quicker_than_a_cold_start(sandbox) -> None:
    async with sandbox() as warm, sandbox(pool_size=0) as cold:
        took = {warm: [], cold: []}
        for backend in (cold, warm) * 4:
            await warm.warmed()
            started = time.monotonic()
            assert (await backend.run(HELLO, QUICK)).stdout.text == "hello\n"
            took[backend].append(time.monotonic() - started)
        assert 3 * min(took[warm]) < min(took[cold])


async def test_runs_at_once_each_have_a_container(sandbox, looking) -> None:
    async with sandbox() as backend:
        code = "import socket, time; socket.create_server(('127.0.0.1', 99 * 99)); time.sleep(0.3)"
        results = await asyncio.gather(
            *(backend.run(Command.python(code), QUICK) for _ in range(4))
        )
        assert all(result.succeeded for result in results), results
    assert sandboxes(looking) == []


async def test_no_two_sandboxes_of_an_engine_are_one_user(sandbox, looking, monkeypatch) -> None:
    monkeypatch.setattr(container, "UIDS", profile.UIDS[:3])
    code = """
import getpass, os, time
print(getpass.getuser(), os.getuid())
while not os.path.exists('/tmp/enough'): time.sleep(0.05)
"""
    async with sandbox(pool_size=0) as one, sandbox(pool_size=0) as other:
        async with asyncio.TaskGroup() as runs:
            said = [
                runs.create_task(each.run(Command.python(code), QUICK))
                for each in (one, other, one)
            ]
            assert await come_to_be(lambda: len(at_work(looking)) == len(said))
            with pytest.raises(
                SandboxUnavailable, match="has 3 sandboxes, and no user for another"
            ):
                await other.run(HELLO, QUICK)
            for each in at_work(looking):
                done = looking.api.exec_create(each, ["touch", "/tmp/enough"])
                looking.api.exec_start(done)
        assert {each.result().stdout.text for each in said} == {
            f"user {uid}\n" for uid in profile.UIDS[:3]
        }


async def test_limits_that_differ_are_given_to_a_container_that_stands_ready(sandbox) -> None:
    hold = "x = bytearray(b'x') * (180 << 20)\nprint('held')"
    bomb = Command.python(
        "import os, time\nn = 0\ntry:\n    while n < 90:\n        if not os.fork(): time.sleep(9)\n"
        "        n += 1\nexcept BlockingIOError: print(n)"
    )
    async with sandbox() as backend:
        await backend.warmed()
        assert (await backend.run(Command.python(hold), QUICK)).stdout.text == "held\n"
        await backend.warmed()
        small = Limits(memory_bytes=100 * MIB, wall_seconds=30.0)
        held = Command.python(f"{hold}\nimport time; time.sleep(20)")  # until it is looked at
        assert (await backend.run(held, small)).end is End.MEMORY
        await backend.warmed()
        assert (await backend.run(bomb, Limits(processes=10))).stdout.text == "9\n"


async def test_memory_that_is_gone_before_it_is_sampled_ends_the_run_as_memory(
    sandbox, monkeypatch
) -> None:
    code = """
import mmap, os
for _ in range(3): os.fork()
area = mmap.mmap(-1, 400 << 20)
area[:] = bytes(1) * len(area)
"""
    async with sandbox() as backend:
        with monkeypatch.context() as patient:  # the word comes, if late
            patient.setattr(container_events, "OOM_SECONDS", 5.0)
            result = await backend.run(Command.python(code), Limits(memory_bytes=128 * MIB))
        assert (result.end, result.signal) == (End.MEMORY, None)
        killed = await backend.run(Command.python("import os; os.kill(os.getpid(), 9)"), QUICK)
        assert (killed.end, killed.signal) == (End.SIGNALED, signal.SIGKILL)


async def test_tcp_sockets_hold_no_multiple_of_the_memory_limit(sandbox) -> None:
    code = """
import socket
server, kept, held = socket.create_server(('127.0.0.1', 0)), [], 0
for _ in range(16):
    kept += [socket.create_connection(server.getsockname()), server.accept()[0]]
for end in kept:
    end.settimeout(0.01)
    try:
        while held < 200 << 20: held += end.send(bytes(1 << 16))
    except TimeoutError: pass
print(held >> 20)
"""
    async with sandbox(pool_size=0) as backend:
        result = await backend.run(Command.python(code), Limits(memory_bytes=64 * MIB))
        assert int(result.stdout.text) < 8  # a host's usual buffers: 4 MiB and more in each


async def test_a_cancelled_run_leaves_no_container(sandbox, looking) -> None:
    async with sandbox(pool_size=0) as backend:
        for wait in (0.01, 0.1, 1.0):
            running = asyncio.create_task(backend.run(Command.python(SLEEP), QUICK))
            await asyncio.sleep(wait)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert sandboxes(looking) == []


async def test_a_container_that_is_not_wanted_is_removed_however_often_one_stops_waiting(
    sandbox, looking
) -> None:
    async with sandbox(pool_size=0) as backend:
        await backend.run(HELLO, QUICK)
        assert await none_left(looking)
        running = asyncio.create_task(backend.run(Command.python(SLEEP), QUICK))
        while not sandboxes(looking):
            await asyncio.sleep(0.001)
        while not running.done():  # an interrupted loop cancels all tasks, a closing pool again
            running.cancel()
            await asyncio.sleep(0)
        assert sandboxes(looking) == []


async def test_a_container_that_stands_still_is_killed_at_the_deadline(
    sandbox, looking, monkeypatch
) -> None:
    monkeypatch.setattr(policy, "GRACE_SECONDS", 0.5)
    async with sandbox() as backend:
        await backend.warmed()
        (taken,) = sandboxes(looking)
        looking.api.pause(taken)
        result = await backend.run(Command.python(SLEEP), Limits(wall_seconds=0.5))
        assert result.end is End.TIMEOUT
        assert taken not in sandboxes(looking)


async def test_the_code_cannot_stop_or_end_its_agent(sandbox) -> None:
    code = """
import os, signal
for number in signal.valid_signals():
    try: os.kill(1, number)
    except PermissionError: pass
print('on')
"""
    async with sandbox(pool_size=0) as backend:
        result = await backend.run(Command.python(code), QUICK)
        assert (result.exit_code, result.stdout.text) == (0, "on\n")


async def test_a_missing_engine_is_reported_and_nothing_else_is_tried(sandbox, tmp_path) -> None:
    async with sandbox(engine=f"unix://{tmp_path}/none.sock") as backend:
        for _ in range(2):
            with pytest.raises(SandboxUnavailable, match="no Docker engine answers"):
                await backend.run(HELLO, QUICK)
        with pytest.raises(SandboxUnavailable, match="no Docker engine answers"):
            await backend.check()


async def test_a_missing_image_is_reported_with_the_command_that_makes_it(sandbox) -> None:
    async with sandbox("no-such-image") as backend:
        with pytest.raises(SandboxUnavailable, match=r"Make it: deploy/sandbox-image\.sh no-such"):
            await backend.run(HELLO, QUICK)


async def test_an_engine_that_dies_during_a_run_is_reported_and_found_again(
    engine, sandbox
) -> None:
    async with sandbox() as backend:
        await backend.warmed()
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
        await backend.warmed()
        assert backend.pool.ready == 1


async def test_runs_under_way_survive_that_another_found_the_engine_lost(
    engine, sandbox, tmp_path
) -> None:
    slow = Command.python("import time; time.sleep(1.5); print('through')")
    async with (
        relayed(engine.host, tmp_path / "relay.sock") as (relay, host),
        sandbox(engine=host, pool_size=0) as backend,
    ):
        running = asyncio.create_task(backend.run(slow, QUICK))
        await asyncio.sleep(0.7)
        relay.refused = 1
        relay.cut()
        await asyncio.sleep(0.5)
        assert (await backend.run(HELLO, QUICK)).succeeded  # by a new connection to the engine
        assert (await running).stdout.text == "through\n"


async def test_a_container_whose_connection_is_cut_is_not_taken_for_its_codes_fault(
    engine, sandbox, tmp_path
) -> None:
    async with (
        relayed(engine.host, tmp_path / "relay.sock") as (relay, host),
        sandbox(engine=host, pool_size=0) as backend,
    ):
        relay.orders_cut = 1
        assert (await backend.run(HELLO, QUICK)).stdout.text == "hello\n"
        assert relay.events == 1  # the engine was not taken for lost
        relay.orders_cut = 2
        with pytest.raises(SandboxUnavailable, match="connection to a run's container was cut"):
            await backend.run(HELLO, QUICK)


async def test_a_stream_of_events_that_is_cut_goes_on_where_it_was(
    engine, sandbox, looking, monkeypatch, tmp_path
) -> None:
    monkeypatch.setattr(session, "CUT_SECONDS", 1.2)  # the kill falls between
    monkeypatch.setattr(container_events, "OOM_SECONDS", 5.0)
    hold = Command.python("x = bytearray(b'x') * (200 << 20)")
    async with (
        relayed(engine.host, tmp_path / "relay.sock") as (relay, host),
        sandbox(engine=host) as backend,
    ):
        await backend.warmed()
        (taken,) = sandboxes(looking)
        # Below the code's own limit, so that it is the kernel that ends it.
        looking.api.update_container(taken, mem_limit="100m", memswap_limit="100m")
        relay.cut()
        assert (await backend.run(hold, QUICK)).end is End.MEMORY
        assert await come_to_be(lambda: relay.events == 2)


WORKER = """
import asyncio, sys
from sandbox import policy
from sandbox.docker import DockerSandbox, trial
from sandbox.protocol import Command, Limits
async def work():
    backend = DockerSandbox(sys.argv[1], engine=sys.argv[2], pool_size=2)
    await backend.warmed()
    print('ready', flush=True)
    await backend.run(Command.python(sys.argv[3]), Limits(wall_seconds=60))
asyncio.run(work())
"""


@pytest.fixture
def worker(engine) -> Iterator[Callable]:
    """A worker's process that is killed a second after its run began."""
    started = []

    def killed(code: str, before: Callable[[], None] = lambda: None) -> None:
        command = [sys.executable, "-c", WORKER, BARE, engine.host, code]
        process = subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        time.sleep(1)
        before()
        process.kill()
        process.wait()

    yield killed
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


async def test_containers_end_by_themselves_with_their_worker(worker, looking) -> None:
    worker(SLEEP)
    assert await none_left(looking)


async def test_what_could_not_end_by_itself_is_swept_by_the_next_worker(
    worker, looking, sandbox
) -> None:
    def freeze() -> None:
        for each in sandboxes(looking):
            with contextlib.suppress(docker.errors.APIError):  # it is being made, or has gone
                looking.api.pause(each)

    worker(SLEEP, freeze)
    await asyncio.sleep(1)
    left = sandboxes(looking)
    assert left
    async with sandbox(pool_size=0) as backend:
        assert (await backend.run(HELLO, QUICK)).succeeded
        assert await none_left(looking)


@contextlib.asynccontextmanager
async def a_stray(looking: docker.DockerClient) -> AsyncIterator[str]:
    """A container of a backend's own that it does not know of, as one whose making was answered
    too late; it never started."""
    [held, *_] = [looking.api.inspect_container(each) for each in sandboxes(looking)]
    labels = {name: said for name, said in held["Config"]["Labels"].items() if name != MARK}
    made = looking.api.create_container(held["Image"], "true", labels=labels)
    yield made["Id"]
    with contextlib.suppress(docker.errors.NotFound):
        looking.api.remove_container(made["Id"], force=True)


async def test_a_container_of_its_own_that_nobody_holds_is_swept(
    sandbox, looking, monkeypatch
) -> None:
    monkeypatch.setattr(session, "SWEEP_SECONDS", 0.2)
    async with sandbox(pool_size=1) as backend:
        await backend.warmed()
        held = set(sandboxes(looking))
        async with a_stray(looking) as stray, asyncio.timeout(20):
            while stray in sandboxes(looking):
                await asyncio.sleep(0.1)
        assert held <= set(sandboxes(looking))
        assert (await backend.run(HELLO, QUICK)).succeeded


async def test_closing_leaves_none_of_its_own(sandbox, looking) -> None:
    async with sandbox(pool_size=1) as backend:
        await backend.warmed()
        async with a_stray(looking) as stray:
            await backend.close()
            assert stray not in sandboxes(looking)


HIDDEN = """
import os, subprocess
from sandbox.docker.garbage_collection import is_alive, started
with subprocess.Popen(["sleep", "60"]) as other:
    process = f"{other.pid} {started(other.pid)}"
    if os.fork() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        print(started(other.pid), is_alive(process), flush=True)
        print(is_alive("399999 1"), is_alive("9" * 30 + " 1"), flush=True)
        os._exit(0)
    os.wait()
    other.kill()
"""


@pytest.mark.parametrize("level", [1, 2])
def test_another_users_worker_that_the_machine_hides_is_not_taken_for_dead(level: int) -> None:
    remount = f'mount -o remount,hidepid={level} /proc && exec "$@"'
    own = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", remount, "sh")
    done = subprocess.run(
        [*own, sys.executable, "-c", HIDDEN], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["None", "True", "False", "False"], done.stderr


async def test_those_of_a_living_worker_are_left_alone(sandbox, looking) -> None:
    async with sandbox(pool_size=2) as other:
        await other.warmed()
        before = set(sandboxes(looking))
        async with sandbox(pool_size=0) as backend:
            await backend.run(HELLO, QUICK)
            await asyncio.sleep(0.5)
        assert before == set(sandboxes(looking))


async def test_a_runtime_that_the_engine_has_not_is_reported(sandbox) -> None:
    async with sandbox(runtime="kata-runtime") as backend:
        with pytest.raises(SandboxUnavailable, match=r"no runtime 'kata-runtime'.*daemon"):
            await backend.run(HELLO, QUICK)


async def test_a_runtime_that_fails_its_trial_is_not_relied_on(
    sandbox, looking, monkeypatch
) -> None:
    monkeypatch.setattr(trial, "RUNS", 10)
    async with sandbox(runtime="flaky") as backend:
        with pytest.raises(SandboxUnavailable, match=r"flaky failed [1-4] of 10 runs"):
            await backend.run(HELLO, QUICK)
    assert sandboxes(looking) == []


async def test_a_runtime_that_passes_its_trial_is_tried_once(sandbox, looking, monkeypatch) -> None:
    monkeypatch.setattr(trial, "RUNS", 5)
    since = f"{time.time():.6f}"
    async with sandbox(runtime="runc", pool_size=0) as backend:
        for _ in range(3):
            assert (await backend.run(HELLO, QUICK)).succeeded
    created = {"event": "create", "label": OWNER}
    made = looking.events(since=since, until=f"{time.time():.6f}", decode=True, filters=created)
    assert len(list(made)) == 5 + 3


async def test_closing_ends_the_runs_that_are_under_way(sandbox, looking) -> None:
    for wait in (0.01, 0.5, 1.5):  # while its container is made, perhaps; while it runs
        async with sandbox(pool_size=0) as backend:
            running = asyncio.create_task(backend.run(Command.python(SLEEP), QUICK))
            await asyncio.sleep(wait)
            await backend.close()
            with pytest.raises(SandboxUnavailable, match="closed"):
                await running
            assert sandboxes(looking) == []


@pytest.mark.parametrize("call", [b"/containers/create", b"/attach", b"/start"])
async def test_closing_ends_a_run_whose_container_is_being_made(
    engine, sandbox, looking, tmp_path, call: bytes
) -> None:
    async with (
        relayed(engine.host, tmp_path / "relay.sock") as (relay, host),
        sandbox(engine=host, pool_size=0) as backend,
    ):
        gate = relay.gate(call)
        running = asyncio.create_task(backend.run(HELLO, QUICK))
        await gate.reached.wait()
        closing = asyncio.create_task(backend.close())
        await asyncio.wait({closing}, timeout=0.3)
        gate.opened.set()
        await closing
        with pytest.raises(SandboxUnavailable, match="this sandbox was closed"):
            await running
        assert sandboxes(looking) == []


async def test_a_closed_backend_runs_nothing(sandbox, looking) -> None:
    async with sandbox() as backend:
        await backend.run(HELLO, QUICK)
        await backend.close()
        assert sandboxes(looking) == []
        with pytest.raises(SandboxUnavailable, match="closed"):
            await backend.run(HELLO, QUICK)
