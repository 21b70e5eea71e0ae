"""Control groups of this machine with real processes, as root, as for a supervisor.

On the machine of these tests, version 1 limits memory. Version 2 is mounted too, without a memory
controller. So its delegation and removal are tested with another controller, and its memory and
pids files with files in a temporary directory.
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

# Waits for a byte, so that it is in its group before its first step. Its children allocate memory
# at the same time: each waits until all have allocated, or were killed.
EATERS = """
import os, sys
sys.stdin.read(1)
end_reader, end_writer = os.pipe()
children = []
for _ in range(8):
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(end_writer)
        memory = bytearray(int(sys.argv[1]) << 20)
        memory[::4096] = b"x" * len(memory[::4096])
        os.write(writing, b".")
        os.read(end_reader, 1)
        os._exit(0)
    os.close(writing)
    children.append((pid, reading))
for _, reading in children:
    os.read(reading, 1)
os.close(end_writer)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid, _ in children]
print(codes.count(0), codes.count(-9))
"""
FORKS = """
import os, sys, time
sys.stdin.read(1)
forks = 0
try:
    for _ in range(30):
        if not os.fork():
            os.close(1)
            time.sleep(60)
        forks += 1
except BlockingIOError:
    pass
print(forks, flush=True)
time.sleep(60)
"""


@pytest.fixture
def cgroups() -> Iterator[Cgroups]:
    cgroups = Cgroups.open(UID)
    assert isinstance(cgroups, Cgroups), cgroups
    yield cgroups
    cgroups.close()


JOINS = """
import os, sys
for members in map(int, sys.argv.pop().split(",")):
    os.write(members, b"0")
    os.close(members)
"""


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    programs = []

    def start_in_group(group: SandboxGroup, code: str, *words: str) -> subprocess.Popen[str]:
        """Start a program that is a member of the group."""
        member_lists = group.open_member_lists()
        argv = [sys.executable, "-I", "-c", JOINS + code, *words, ",".join(map(str, member_lists))]
        program = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=member_lists,
        )
        programs.append(program)
        for member_list in member_lists:
            os.close(member_list)
        pid = str(program.pid)
        wait_until(lambda: all(pid in members(directory) for directory in directories(group)))
        return program

    yield start_in_group
    for program in programs:
        program.kill()
        program.communicate()


def read_line(program: subprocess.Popen[str]) -> str:
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write("\n")
    program.stdin.flush()
    return program.stdout.readline().strip()


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def supervisor_groups(pid: int) -> list[Path]:
    """The groups of a supervisor, in every hierarchy."""
    groups = find_groups()
    assert not isinstance(groups, NoCgroup)
    return [path for group in groups for path in group.directory.glob(f"fettle-{pid}-*")]


def members(directory: Path) -> list[str]:
    return (directory / "cgroup.procs").read_text().split()


def directories(group: SandboxGroup) -> set[Path]:
    return {it.directory for it in group._directories}


def test_memory_counts_over_eight_processes(
    cgroups: Cgroups, start: Callable[..., subprocess.Popen[str]]
) -> None:
    group = cgroups.make_group()
    group.set_limits(200 * MIB, 64, None)
    program = start(group, EATERS, "50")
    succeeded, killed = map(int, read_line(program).split())
    assert killed >= 1
    assert succeeded * 50 <= 200
    assert group.read_report().oom_kills == killed


def test_processes_are_counted(
    cgroups: Cgroups, start: Callable[..., subprocess.Popen[str]]
) -> None:
    group = cgroups.make_group()
    group.set_limits(200 * MIB, 10, None)
    program = start(group, FORKS)
    assert read_line(program) == "9"
    assert group.read_report() == ExitReport(refused_forks=1)


def test_a_group_with_a_process_is_not_reused_and_is_removed_after_it(
    cgroups: Cgroups, start: Callable[..., subprocess.Popen[str]]
) -> None:
    group = cgroups.make_group()
    program = start(group, "import time; time.sleep(60)")
    cgroups.discard_group(group)
    second = cgroups.make_group()
    assert directories(second).isdisjoint(directories(group))
    assert not cgroups.remove_empty()
    program.kill()
    program.wait()
    wait_until(cgroups.remove_empty)
    tops = supervisor_groups(os.getpid())
    remaining = {path for top in tops for path in top.iterdir() if path.is_dir()}
    assert remaining == directories(second)


def test_closing_kills_remaining_processes_and_removes_all_groups(
    cgroups: Cgroups, start: Callable[..., subprocess.Popen[str]]
) -> None:
    program = start(cgroups.make_group(), "import time; time.sleep(60)")
    cgroups.close()
    assert program.wait(10) == -signal.SIGKILL
    assert supervisor_groups(os.getpid()) == []


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


def test_groups_of_a_killed_supervisor_are_removed_by_the_next_supervisor() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": "."},
    ) as owner:
        assert owner.stdout is not None
        pid, member = map(int, owner.stdout.readline().split())
        groups = find_groups()
        assert not isinstance(groups, NoCgroup)
        tops = supervisor_groups(pid)
        assert len(tops) == len(groups)
        assert all(str(member) in (top / "1/cgroup.procs").read_text().split() for top in tops)
        owner.kill()
    next_cgroups = Cgroups.open(os.getuid())
    assert isinstance(next_cgroups, Cgroups)
    assert not any(top.exists() for top in tops)
    assert not process_tree.is_alive(member)
    next_cgroups.close()


def test_only_groups_of_dead_supervisors_are_removed() -> None:
    groups = find_groups()
    assert not isinstance(groups, NoCgroup)
    base = groups[0].directory
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    dead = base / f"fettle-{os.getpid()}-1-{namespace}"  # this pid with another start time
    alive = base / cgroup_groups.supervisor_group_name()
    foreign = base / f"fettle-1-1-{namespace + 1}"
    for group in (dead, dead / "7", alive, foreign):
        group.mkdir()
    try:
        # Killed workers of other tests can have left groups, too.
        assert set(cgroup_groups.leftover_groups(base)) & {dead, alive, foreign} == {dead}
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
    """A group of version 2 like a service's, with every controller of the machine."""
    mounts = parse_mounts(Path("/proc/self/mountinfo").read_text())
    root = Path(next(mount.path for mount in mounts if mount.version == 2))
    enabled = words(root / "cgroup.subtree_control")
    added = words(root / "cgroup.controllers") - enabled
    cgroup_groups.enable_controllers(root, added)
    unit = root / f"test-{os.getpid()}"
    unit.mkdir()
    yield unit
    assert remove_groups([unit], time.monotonic() + 10)
    (root / "cgroup.subtree_control").write_text(" ".join(f"-{name}" for name in added))


def words(file: Path) -> frozenset[str]:
    return frozenset(file.read_text().split())


@pytest.mark.parametrize("mark", [b"1", None])
def test_only_a_delegated_subtree_is_divided(
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
    leaf = delegated / cgroup_groups.LEAF
    for group in (delegated, leaf):  # a second supervisor is in the leaf
        assert cgroup_groups.make_divisible(group, controllers) == delegated
    assert (delegated / "cgroup.procs").read_text() == ""
    assert (leaf / "cgroup.procs").read_text().split() == [str(program.pid)]
    assert words(delegated / "cgroup.subtree_control") >= controllers


def test_a_sandbox_group_of_version_2_writes_existing_files(tmp_path: Path) -> None:
    """In a directory with the files that the kernel documents for version 2."""
    for file in ("memory.max", "pids.max", "cpu.max", "cgroup.procs"):
        (tmp_path / file).write_text("")
    (tmp_path / "memory.events").write_text("low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
    (tmp_path / "pids.events").write_text("max 5\n")
    directory = GroupDirectory(tmp_path, frozenset({"memory", "pids", "cpu"}), 2)
    group = SandboxGroup((directory,))
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


async def test_the_time_of_children_without_a_wait_is_counted() -> None:
    """Each child ends too fast for the samples, but the control group counts its time."""
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
