from __future__ import annotations

from sandbox import policy
from sandbox.agent import resource_monitor
from sandbox.local.base_container import Descriptors, bwrap_command
from sandbox.policy import HostEnvironment, HostMount
from sandbox.protocol import Limits

HOST_ENV = HostEnvironment(
    bwrap="/usr/bin/bwrap",
    python="/opt/venv/bin/python",
    mounts=(HostMount("/usr", "/usr"), HostMount("/tmp/0", "/opt/venv")),
    links=(("usr/bin", "/bin"),),
    masked=(("/proc/kcore", False), ("/proc/sys", True)),
)
GIVEN = Descriptors(
    control=7, info=8, files={"/etc/passwd": 10, "/agent/context": 11, "/agent/empty-file": 12}
)


def words() -> list[str]:
    return bwrap_command(HOST_ENV, GIVEN, libraries=True)


def isolation() -> dict[str, list[str]]:
    """What the sandboxes put up, by key."""
    found: dict[str, list[str]] = {}
    for line in policy.isolation(HOST_ENV).split("\n"):
        key, _, value = line.partition(" ")
        found.setdefault(key, []).append(value)
    return found


def test_sockets_keep_small_buffers() -> None:
    found = dict(each.split(" ", 1) for each in isolation()["sysctl"])
    assert set(found) == {f"/proc/sys/net/ipv4/tcp_{way}mem" for way in "wr"}
    assert all(int(sizes.split()[2]) < resource_monitor.SOCKET_BYTES for sizes in found.values())


def test_what_a_sandbox_writes_lies_in_a_tmpfs_of_bounded_size_and_count() -> None:
    places = dict(value.split(" ") for value in isolation()["tmpfs"])
    options = {at: dict(each.split("=") for each in it.split(",")) for at, it in places.items()}
    assert {at: int(each.get("size", 0)) for at, each in options.items()} == {
        "/dev/shm": policy.SHM_BYTES,
        "/tmp": policy.TMP_BYTES,
        "/run": policy.RUN_BYTES,
        "/work": 0,  # sized for each sandbox, as is its count
    }
    counts = {at: int(each["nr_inodes"]) for at, each in options.items() if at != "/work"}
    assert all(count <= policy.TMPFS_INODES for count in counts.values())
    assert policy.work_inodes(Limits()) == policy.TMPFS_INODES
    assert policy.work_inodes(Limits(workspace_files=60_000)) > 2 * 60_000
    assert policy.TMPFS_INODES > policy.INODES  # so that a run is ended for it


def test_what_proc_tells_of_the_machine_is_covered_with_what_nobody_opens() -> None:
    masks = [
        "/proc/kcore /agent/empty-file",
        "/proc/sys /agent/empty-directory",
        "/proc/stat /agent/stat",
    ]
    assert isolation()["mask"] == masks
    every = words()
    at = every.index("/agent/empty-file")
    assert every[at - 4 : at] == ["--perms", "0000", "--file", "12"]
    at = every.index("/agent/empty-directory")
    assert every[at - 3 : at] == ["--perms", "0000", "--dir"]


def test_the_zygotes_environment_is_the_codes() -> None:
    # bubblewrap is started with an empty one: --clearenv does not clear /proc/1/environ.
    every = words()
    given = {every[at + 1]: every[at + 2] for at, word in enumerate(every) if word == "--setenv"}
    assert given == policy.environment(HOST_ENV)
    assert not {"--clearenv", "--unsetenv"} & set(every)


def test_rlimits_follow_the_limits() -> None:
    limits = policy.rlimits(Limits(processes=10, cpu_seconds=3, file_bytes=5, open_files=6))
    assert limits["RLIMIT_NPROC"] == (11, 11)
    assert limits["RLIMIT_CPU"] == (3, 4)
    assert limits["RLIMIT_FSIZE"] == (5, 5)
    assert limits["RLIMIT_NOFILE"] == (6, 6)
    assert limits["RLIMIT_CORE"] == (1, 1)
    nothing = ("RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE", "RLIMIT_NICE", "RLIMIT_RTPRIO")
    assert {limits[name] for name in nothing} == {(0, 0)}
