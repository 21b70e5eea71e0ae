"""Control groups of this machine, with real processes in them. Run as root, as the supervisor is.

Version 1 is what bounds memory on the machine that these tests were written on. Version 2's tree is
real there too, without its memory controller: dividing, giving away and clearing it are tried with
a controller that it has; its memory and pids files are compared with the kernel's documentation
alone (tests/unit).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.drills import process_tree
from sandbox.local.backend import LocalSandbox
from sandbox.local.cgroups import groups as cgroup_groups
from sandbox.local.cgroups.detection import GroupDirectory, find_groups, parse_mounts
from sandbox.local.cgroups.groups import Cgroups, NoCgroup, SandboxGroup
from sandbox.local.cgroups.sandbox_group import remove_groups
from sandbox.protocol import MIB, Command, End, Limits
from sandbox.result import ExitReport

UID = 61_107

# Waits for a byte, so that it is in its group before it does anything. Its children eat side by
# side: who has eaten waits until each of them has, or was killed.
EATERS = """
import os, sys
sys.stdin.read(1)
over, until = os.pipe()
begun = []
for _ in range(8):
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(until)
        held = bytearray(int(sys.argv[1]) << 20)
        held[::4096] = b"x" * len(held[::4096])
        os.write(writing, b".")
        os.read(over, 1)
        os._exit(0)
    os.close(writing)
    begun.append((pid, reading))
for _, reading in begun:
    os.read(reading, 1)
os.close(until)
ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid, _ in begun]
print(ends.count(0), ends.count(-9))
"""
FORKS = """
import os, sys, time
sys.stdin.read(1)
made = 0
try:
    for _ in range(30):
        if not os.fork():
            os.close(1)
            time.sleep(60)
        made += 1
except BlockingIOError:
    pass
print(made, flush=True)
time.sleep(60)
"""


@pytest.fixture
def cgroups() -> Iterator[Cgroups]:
    opened = Cgroups.open(UID)
    assert isinstance(opened, Cgroups), opened
    yield opened
    opened.close()


JOINS = """
import os, sys
for members in map(int, sys.argv.pop().split(",")):
    os.write(members, b"0")
    os.close(members)
"""


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started = []

    def program(group: SandboxGroup, code: str, *words: str) -> subprocess.Popen[str]:
        """One that is a member of the group."""
        member_lists = group.open_member_lists()
        argv = [sys.executable, "-I", "-c", JOINS + code, *words, ",".join(map(str, member_lists))]
        one = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=member_lists,
        )
        started.append(one)
        for member_list in member_lists:
            os.close(member_list)
        until(lambda: all(str(one.pid) in members(each) for each in directories(group)))
        return one

    yield program
    for each in started:
        each.kill()
        each.communicate()


def read_line(program: subprocess.Popen[str]) -> str:
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write("\n")
    program.stdin.flush()
    return program.stdout.readline().strip()


def until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def ours() -> list[Path]:
    """Groups of this process, in every hierarchy."""
    places = find_groups()
    assert not isinstance(places, NoCgroup)
    return [each for place in places for each in place.directory.glob(f"fettle-{os.getpid()}-*")]


def members(directory: Path) -> list[str]:
    return (directory / "cgroup.procs").read_text().split()


def directories(group: SandboxGroup) -> set[Path]:
    return {each.directory for each in group._directories}


def test_memory_counts_over_eight_processes(
    cgroups: Cgroups, start: Callable[..., subprocess.Popen[str]]
) -> None:
    group = cgroups.make_group()
    group.set_limits(200 * MIB, 64, None)
    program = start(group, EATERS, "50")
    whole, killed = map(int, read_line(program).split())
    assert killed >= 1
    assert whole * 50 <= 200
    assert group.read_report().oom_kills == killed


def test_processes_are_counted(
    cgroups: Cgroups, start: Callable[..., subprocess.Popen[str]]
) -> None:
    group = cgroups.make_group()
    group.set_limits(200 * MIB, 10, None)
    program = start(group, FORKS)
    assert read_line(program) == "9"
    assert group.read_report() == ExitReport(refused_forks=1)


def test_a_group_with_a_process_in_it_serves_no_other_sandbox_and_goes_with_it(
    cgroups: Cgroups, start: Callable[..., subprocess.Popen[str]]
) -> None:
    group = cgroups.make_group()
    program = start(group, "import time; time.sleep(60)")
    cgroups.give_back(group)
    other = cgroups.make_group()
    assert directories(other).isdisjoint(directories(group))
    assert not cgroups.remove_empty()
    program.kill()
    program.wait()
    until(cgroups.remove_empty)
    assert {each for top in ours() for each in top.iterdir() if each.is_dir()} == directories(other)


def test_closing_kills_what_is_left_and_removes_everything(
    cgroups: Cgroups, start: Callable[..., subprocess.Popen[str]]
) -> None:
    program = start(cgroups.make_group(), "import time; time.sleep(60)")
    cgroups.close()
    assert program.wait(10) == -signal.SIGKILL
    assert ours() == []


OWNER = f"""
import os, sys, time
from sandbox.local.cgroups.groups import Cgroups
groups = Cgroups.open({UID})
os.setgroups([]); os.setresgid({UID}, {UID}, {UID}); os.setresuid({UID}, {UID}, {UID})
group = groups.make_group()
group.set_limits(64 << 20, 10, None)
members, (ready, joined) = group.open_member_lists(), os.pipe()
pid = os.fork()
if not pid:
    for member_list in members:
        os.write(member_list, b"0")
    os.write(joined, b"1")
    time.sleep(60)
os.read(ready, 1)
print(os.getpid(), pid, flush=True)
time.sleep(60)
"""


def test_what_one_that_stepped_down_leaves_when_killed_goes_with_the_next_start() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": "."},
    ) as owner:
        assert owner.stdout is not None
        pid, member = map(int, owner.stdout.readline().split())
        places = find_groups()
        assert not isinstance(places, NoCgroup)
        tops = [top for each in places for top in each.directory.glob(f"fettle-{pid}-*")]
        assert len(tops) == len(places)
        assert all(str(member) in (top / "1/cgroup.procs").read_text().split() for top in tops)
        owner.kill()
    following = Cgroups.open(os.getuid())
    assert isinstance(following, Cgroups)
    assert not any(top.exists() for top in tops)
    assert not process_tree.is_alive(member)
    following.close()


def test_leftovers_of_the_dead_are_removed_and_of_the_living_are_not() -> None:
    places = find_groups()
    assert not isinstance(places, NoCgroup)
    base = places[0].directory
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    dead = base / f"fettle-{os.getpid()}-1-{namespace}"  # our pid, and another start
    alive = base / cgroup_groups.supervisor_group_name()
    foreign = base / f"fettle-1-1-{namespace + 1}"
    for each in (dead, dead / "7", alive, foreign):
        each.mkdir()
    try:
        assert cgroup_groups.leftover_groups(base) == [dead]
        assert remove_groups(cgroup_groups.leftover_groups(base), time.monotonic() + 5)
        assert (dead.exists(), alive.exists(), foreign.exists()) == (False, True, True)
    finally:
        alive.rmdir()
        foreign.rmdir()


# Version 2


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    program = subprocess.Popen(["sleep", "60"])
    yield program
    program.kill()
    program.wait()


@pytest.fixture
def delegated() -> Iterator[Path]:
    """A group of version 2, such as a service has, with every controller of the machine's."""
    at = next(
        m.path for m in parse_mounts(Path("/proc/self/mountinfo").read_text()) if m.version == 2
    )
    given = words(Path(at, "cgroup.subtree_control"))
    added = words(Path(at, "cgroup.controllers")) - given
    cgroup_groups.enable_controllers(Path(at), added)
    unit = Path(at, f"test-{os.getpid()}")
    unit.mkdir()
    yield unit
    assert remove_groups([unit], time.monotonic() + 10)
    Path(at, "cgroup.subtree_control").write_text(" ".join(f"-{each}" for each in added))


def words(file: Path) -> frozenset[str]:
    return frozenset(file.read_text().split())


@pytest.mark.parametrize("mark", [b"1", None])
def test_a_delegated_subtree_is_divided_and_no_other(
    delegated: Path, sleeper: subprocess.Popen[bytes], mark: bytes | None
) -> None:
    controllers = words(delegated / "cgroup.controllers")
    program = sleeper
    (delegated / "cgroup.procs").write_text(str(program.pid))
    if mark is None:
        with pytest.raises(cgroup_groups.NotDelegatedError, match="Delegate=yes"):
            cgroup_groups.make_divisible(delegated, controllers)
        assert str(program.pid) in (delegated / "cgroup.procs").read_text().split()
        return
    os.setxattr(delegated, "trusted.delegate", mark)
    for own in (delegated, delegated / cgroup_groups.LEAF):  # a second supervisor finds it done
        assert cgroup_groups.make_divisible(own, controllers) == delegated
    assert (delegated / "cgroup.procs").read_text() == ""
    assert (delegated / cgroup_groups.LEAF / "cgroup.procs").read_text().split() == [
        str(program.pid)
    ]
    assert words(delegated / "cgroup.subtree_control") >= controllers


def test_a_sandbox_group_of_version_2_writes_the_files_that_are_there(tmp_path: Path) -> None:
    """A tree that looks like version 2's: what is written is what the kernel's pages say."""
    for file in ("memory.max", "pids.max", "cpu.max", "cgroup.procs"):
        (tmp_path / file).write_text("")
    (tmp_path / "memory.events").write_text("low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
    (tmp_path / "pids.events").write_text("max 5\n")
    place = GroupDirectory(tmp_path, frozenset({"memory", "pids", "cpu"}), 2)
    group = SandboxGroup((place,))
    group.set_limits(MIB, 12, 0.5)
    assert group.read_report() == ExitReport(oom_kills=2, refused_forks=5)
    assert (tmp_path / "memory.max").read_text() == str(MIB)
    assert (tmp_path / "pids.max").read_text() == "12"
    assert (tmp_path / "cpu.max").read_text() == "50000 100000"


UNREAPED = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(200):
    reading, writing = os.pipe()
    if not os.fork():
        while time.process_time() < 0.02:
            pass
        os._exit(0)
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
"""


async def test_the_time_of_children_that_nobody_waited_for_is_counted() -> None:
    """Each lives too short a time for a sample to be sure of it: the group has counted them."""
    python = Path(sys.prefix) / "sandbox" / "bin" / "python"
    sandbox = LocalSandbox(python, pool_size=0)
    try:
        layers = {layer.name: layer for layer in await sandbox.check()}
        assert layers["cgroup"].active
        limits = Limits(wall_seconds=60.0, cpu_seconds=1)
        result = await sandbox.run(Command.python(UNREAPED), limits)
    finally:
        await sandbox.close()
    assert result.end is End.CPU
