"""No sandbox outlives its run or its worker, and a run survives the loss of its supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from lab.drills.process_tree import is_alive
from sandbox.local import LocalSandbox
from sandbox.protocol import MIB, Command, End, Limits, SandboxUnavailable

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
TOP = Path(__file__).resolve().parents[3]
DEFIANT = """
import os, signal, time
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(600)
open('/tmp/up', 'w').close()
time.sleep(600)
"""
WORKER = f"""
import asyncio, pathlib
from sandbox.local import LocalSandbox
from sandbox.protocol import Command, Limits
async def main():
    sandbox = LocalSandbox(pathlib.Path({str(PYTHON)!r}))
    await sandbox.run(Command.python(""), Limits())
    runs = [sandbox.run(Command.python({DEFIANT!r}), Limits(wall_seconds=300)) for _ in range(2)]
    print(sandbox._session.pid, flush=True)
    await asyncio.gather(*runs)
asyncio.run(main())
"""

STARTS = f"""
import pathlib, time
from dataclasses import replace
from sandbox.local import base_container, host, stepdown, zygote
zygote.adopt_orphans()
host_env = host.find_environment({str(PYTHON)!r}, None)
spec = base_container.read_spec(host_env)
spec = replace(spec, host_env=stepdown.step_down(host_env, 61100))
for number in range(40):
    started = zygote.Zygote(spec, libraries=False)
    request = zygote.SandboxRequest(number, 1 << 20, 1000, (), copies_trees=False, proxy_port=3128)
    started.request_sandbox(request, None)
    time.sleep(number * 0.002)
    started.kill()
    started.close()
"""


@pytest_asyncio.fixture
async def sandbox() -> AsyncIterator[LocalSandbox]:
    backend = LocalSandbox(PYTHON, pool_size=1)
    yield backend
    await backend.close()


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True, cwd=TOP
    )
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


async def test_a_run_with_other_limits_keeps_the_ready_sandboxes(
    sandbox: LocalSandbox,
) -> None:
    await sandbox.run(Command.python(""), Limits())
    await sandbox.wait_until_warm()
    code = "import os; print(os.statvfs('/work').f_blocks * os.statvfs('/work').f_frsize >> 20)"
    larger = Limits(workspace_bytes=192 * MIB)
    assert int((await sandbox.run(Command.python(code), larger)).stdout.text) >= 192
    assert sandbox.pool.ready == 1


@pytest.mark.invariant("J14")
def test_kill_9_of_the_worker_leaves_no_process(worker: subprocess.Popen[str]) -> None:
    assert worker.stdout is not None
    supervisor = int(worker.stdout.readline())
    # Two runs of three processes each, their agents, two ready sandboxes, bubblewrap and the
    # zygote.
    family = _wait_for(lambda: _family(supervisor), lambda pids: len(pids) >= 15)
    worker.kill()
    worker.wait()
    _wait_for(lambda: [pid for pid in family if is_alive(pid)], lambda left: not left)


async def test_close_leaves_no_process_and_may_be_called_twice(sandbox: LocalSandbox) -> None:
    await sandbox.run(Command.python(""), Limits())
    assert sandbox._session is not None
    run = asyncio.ensure_future(sandbox.run(Command.python(DEFIANT), Limits()))
    supervisor = sandbox._session.pid
    family = await asyncio.to_thread(
        _wait_for, lambda: _family(supervisor), lambda pids: len(pids) > 5
    )
    await sandbox.close()
    await sandbox.close()
    await asyncio.wait([run])
    await asyncio.to_thread(
        _wait_for, lambda: [pid for pid in family if is_alive(pid)], lambda left: not left
    )


async def test_a_run_during_the_close_is_not_repeated(
    sandbox: LocalSandbox,
) -> None:
    await sandbox.run(Command.python(""), Limits())
    run = asyncio.ensure_future(sandbox.run(Command.python(DEFIANT), Limits()))
    await asyncio.sleep(0.2)
    await sandbox.close()
    with pytest.raises(SandboxUnavailable, match="closed"):
        await run
    with pytest.raises(SandboxUnavailable, match="closed"):
        await sandbox.run(Command.python(""), Limits())


async def test_libraries_are_loaded_once_a_run_names_one(sandbox: LocalSandbox) -> None:
    has_numpy = Command.python("import sys; print(any(name[:3] == 'num' for name in sys.modules))")
    for _ in range(3):
        assert (await sandbox.run(has_numpy, Limits())).stdout.text == "False\n"
    await sandbox.run(Command.python("import numpy"), Limits())
    assert (await sandbox.run(has_numpy, Limits())).stdout.text == "True\n"


@pytest.mark.invariant("J14")
async def test_sandboxes_leave_no_process_no_mount_and_no_descriptor(sandbox: LocalSandbox) -> None:
    await sandbox.run(Command.python(""), Limits())
    await sandbox.wait_until_warm()
    assert sandbox._session is not None
    supervisor = sandbox._session.pid
    before = await asyncio.to_thread(_stable_counts, supervisor)
    for _ in range(100):
        runs = (sandbox.run(Command.python("print(1)"), Limits()) for _ in range(2))
        assert all(result.succeeded for result in await asyncio.gather(*runs))
    failing = "import os; os.fork(); os.kill(os.getpid(), 9)"
    for _ in range(10):
        assert not (await sandbox.run(Command.python(failing), Limits())).succeeded
    assert await asyncio.to_thread(_stable_counts, supervisor) == before


async def test_a_run_is_repeated_after_its_zygote_was_lost(sandbox: LocalSandbox) -> None:
    await sandbox.run(Command.python(""), Limits())
    assert sandbox._session is not None
    code = "import time; time.sleep(0.6); print('complete')"
    run = asyncio.ensure_future(sandbox.run(Command.python(code), Limits()))
    await asyncio.sleep(0.3)
    _kill_zygotes(sandbox._session.pid)
    result = await run
    assert (result.end, result.stdout.text) == (End.EXITED, "complete\n")


async def test_a_run_is_repeated_after_its_supervisor_was_lost(sandbox: LocalSandbox) -> None:
    await sandbox.run(Command.python(""), Limits())
    assert sandbox._session is not None
    code = "import time; time.sleep(0.6); print('complete')"
    run = asyncio.ensure_future(sandbox.run(Command.python(code), Limits()))
    await asyncio.sleep(0.2)
    os.kill(sandbox._session.pid, signal.SIGKILL)
    result = await run
    assert (result.end, result.stdout.text) == (End.EXITED, "complete\n")


@pytest.mark.invariant("J14")
def test_zygotes_that_are_killed_at_any_moment_of_their_start_leave_no_process() -> None:
    """See `zygote.adopt_orphans`. In a separate process, because it steps down from root."""
    before = _orphaned_inits()
    process = subprocess.run([sys.executable, "-c", STARTS], cwd=TOP, timeout=60, check=False)
    assert process.returncode == 0
    assert not _orphaned_inits() - before


def _orphaned_inits() -> set[int]:
    """The pids of zygotes without a supervisor."""
    pids = set()
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            cmdline = (directory / "cmdline").read_bytes()
            parent = (directory / "stat").read_bytes().rpartition(b")")[2].split()[1]
        except OSError:
            continue
        if parent == b"1" and b"sandbox.zygote.server" in cmdline:
            pids.add(int(directory.name))
    return pids


def _zygotes(supervisor: int) -> list[int]:
    """The children of bubblewrap, which is a child of the supervisor."""
    bwraps = {pid for pid in _family(supervisor) if _parent(pid) == supervisor}
    return [pid for pid in _family(supervisor) if _parent(pid) in bwraps]


def _kill_zygotes(supervisor: int) -> None:
    for pid in _zygotes(supervisor):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _stable_counts(supervisor: int) -> tuple[int, int, int]:
    """The numbers of processes below the supervisor, of its descriptors and of the mounts that it
    sees, after these numbers have not changed for a while.
    """

    def count() -> tuple[int, int, int]:
        directory = Path(f"/proc/{supervisor}")
        mounts = (directory / "mountinfo").read_text().count("\n")
        return len(_family(supervisor)), len(list((directory / "fd").iterdir())), mounts

    deadline = time.monotonic() + 20
    counts = [count()]
    while len(counts) < 20 or len(set(counts[-20:])) > 1:
        assert time.monotonic() < deadline, counts[-20:]
        time.sleep(0.02)
        counts.append(count())
    return counts[-1]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _family(top: int) -> set[int]:
    """A process and its descendants."""
    parents: dict[int, int] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] != b"Z":
            parents[int(directory.name)] = int(fields[1])
    family = {top} & parents.keys()
    while children := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= children
    return family


def _wait_for(read_state, holds):
    until = time.monotonic() + 20
    while not holds(state := read_state()):
        assert time.monotonic() < until, state
        time.sleep(0.02)
    return state
