"""No room outlives its run or its worker, and a lost supervisor costs nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from sandbox.local import LocalSandbox
from sandbox.protocol import Command, End, Limits, SandboxUnavailable

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
TOP = Path(__file__).resolve().parents[2]
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
    print(sandbox._link._process.pid, flush=True)
    await asyncio.gather(*runs)
asyncio.run(main())
"""

STARTS = f"""
import pathlib, time
from dataclasses import replace
from sandbox.local import ground, orphans, rooms, stepdown
orphans.adopt()
found = ground.find(pathlib.Path({str(PYTHON)!r}), None)
plan = rooms.plan(found)
plan = replace(plan, ground=stepdown.step_down(found, 61100))
for number in range(60):
    room = rooms.Room(plan, 1 << 20)
    time.sleep(number * 0.0002)
    room.kill()
    room.bury()
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


@pytest.mark.invariant("J14")
def test_kill_9_of_the_worker_leaves_no_process(worker: subprocess.Popen[str]) -> None:
    assert worker.stdout is not None
    supervisor = int(worker.stdout.readline())
    # Two runs of three processes each, their agents, and two rooms that stand ready.
    family = _wait_for(lambda: _family(supervisor), lambda pids: len(pids) >= 15)
    worker.kill()
    worker.wait()
    _wait_for(lambda: [pid for pid in family if _alive(pid)], lambda left: not left)


async def test_close_leaves_no_process_and_may_be_called_twice(sandbox: LocalSandbox) -> None:
    await sandbox.run(Command.python(""), Limits())
    assert sandbox._link is not None
    run = asyncio.ensure_future(sandbox.run(Command.python(DEFIANT), Limits()))
    await asyncio.sleep(0.3)
    family = _family(sandbox._link._process.pid)
    assert len(family) > 5
    await sandbox.close()
    await sandbox.close()
    await asyncio.wait([run])
    await asyncio.to_thread(
        _wait_for, lambda: [pid for pid in family if _alive(pid)], lambda left: not left
    )


async def test_a_run_that_is_underway_at_the_close_is_not_begun_again(
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


@pytest.mark.invariant("J14")
async def test_after_a_run_its_room_is_gone(sandbox: LocalSandbox) -> None:
    await sandbox.run(Command.python(""), Limits())
    assert sandbox._link is not None
    supervisor = sandbox._link._process.pid
    for _ in range(5):
        await sandbox.run(Command.python(""), Limits())
    # One room stands ready: bubblewrap, its init, the agent and the interpreter that waits.
    await asyncio.to_thread(_wait_for, lambda: _family(supervisor), lambda pids: len(pids) == 1 + 4)


async def test_a_lost_supervisor_is_replaced(sandbox: LocalSandbox) -> None:
    for _ in range(2):
        assert (await sandbox.run(Command.python("print(1)"), Limits())).succeeded
        assert sandbox._link is not None
        os.kill(sandbox._link._process.pid, signal.SIGKILL)
    assert (await sandbox.run(Command.python("print(1)"), Limits())).succeeded


async def test_a_run_whose_supervisor_was_lost_is_run_again(sandbox: LocalSandbox) -> None:
    await sandbox.run(Command.python(""), Limits())
    assert sandbox._link is not None
    code = "import time; time.sleep(0.6); print('whole')"
    run = asyncio.ensure_future(sandbox.run(Command.python(code), Limits()))
    await asyncio.sleep(0.2)
    os.kill(sandbox._link._process.pid, signal.SIGKILL)
    result = await run
    assert (result.end, result.stdout.text) == (End.EXITED, "whole\n")


async def test_a_supervisor_lost_twice_is_unavailability(sandbox: LocalSandbox) -> None:
    await sandbox.run(Command.python(""), Limits())
    run = asyncio.ensure_future(sandbox.run(Command.python("import time; time.sleep(9)"), Limits()))
    killed: set[int] = set()
    while not run.done():
        await asyncio.sleep(0.3)
        pid = sandbox._link._process.pid if sandbox._link is not None else 0
        if pid and pid not in killed:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
    with pytest.raises(SandboxUnavailable, match="supervisor has ended"):
        run.result()
    assert len(killed) == 2


async def test_a_frozen_agent_is_ended_by_the_supervisor(
    sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.policy.GRACE_SECONDS", 0.5)
    code = "import os, signal, time; os.kill(2, signal.SIGSTOP); time.sleep(60)"
    result = await sandbox.run(Command.python(code), Limits(wall_seconds=0.5))
    assert result.end is End.TIMEOUT
    assert 1.0 <= result.seconds < 30


@pytest.mark.invariant("J14")
def test_rooms_that_are_killed_at_any_moment_of_their_start_leave_nothing() -> None:
    """See `sandbox.local.orphans`. In a process of its own, since it steps down from root."""
    before = _unbegun()
    ran = subprocess.run([sys.executable, "-c", STARTS], cwd=TOP, timeout=60, check=False)
    assert ran.returncode == 0
    assert not _unbegun() - before


def _unbegun() -> set[int]:
    """Inits of rooms that nobody watches over any more."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            cmdline = (place / "cmdline").read_bytes()
            parent = (place / "stat").read_bytes().rpartition(b")")[2].split()[1]
        except OSError:
            continue
        if parent == b"1" and b"sandbox.room.agent" in cmdline:
            found.add(int(place.name))
    return found


def _family(top: int) -> set[int]:
    """A process and its descendants."""
    parents: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = place.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if words[0] != b"Z":
            parents[int(place.parent.name)] = int(words[1])
    found = {top} & parents.keys()
    while grown := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= grown
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def _wait_for(look, holds):
    until = time.monotonic() + 20
    while not holds(seen := look()):
        assert time.monotonic() < until, seen
        time.sleep(0.02)
    return seen
