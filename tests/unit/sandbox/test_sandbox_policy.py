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
DESCRIPTORS = Descriptors(
    control=7, info=8, files={"/etc/passwd": 10, "/agent/context": 11, "/agent/empty-file": 12}
)


def command_line() -> list[str]:
    return bwrap_command(HOST_ENV, DESCRIPTORS, libraries=True)


def isolation() -> dict[str, list[str]]:
    """The isolation steps: values by key."""
    values: dict[str, list[str]] = {}
    for line in policy.isolation(HOST_ENV).split("\n"):
        key, _, value = line.partition(" ")
        values.setdefault(key, []).append(value)
    return values


def test_sockets_keep_small_buffers() -> None:
    sysctls = dict(line.split(" ", 1) for line in isolation()["sysctl"])
    assert set(sysctls) == {f"/proc/sys/net/ipv4/tcp_{letter}mem" for letter in "wr"}
    maxima = [int(sizes.split()[2]) for sizes in sysctls.values()]
    assert all(maximum < resource_monitor.SOCKET_BYTES for maximum in maxima)


def test_every_writable_directory_is_a_tmpfs_with_a_limit_of_bytes_and_files() -> None:
    lines = dict(value.split(" ") for value in isolation()["tmpfs"])
    options = {
        path: dict(option.split("=") for option in text.split(",")) for path, text in lines.items()
    }
    assert {path: int(values.get("size", 0)) for path, values in options.items()} == {
        "/dev/shm": policy.SHM_BYTES,
        "/tmp": policy.TMP_BYTES,
        "/run": policy.RUN_BYTES,
        "/work": 0,  # its limits are set for each sandbox
    }
    counts = [int(values["nr_inodes"]) for path, values in options.items() if path != "/work"]
    assert all(count <= policy.TMPFS_INODES for count in counts)
    assert policy.work_inodes(Limits()) == policy.TMPFS_INODES
    assert policy.work_inodes(Limits(workspace_files=60_000)) > 2 * 60_000
    assert policy.TMPFS_INODES > policy.INODES  # so that the agent ends the run first


def test_files_of_proc_are_covered_by_files_that_no_user_may_open() -> None:
    masks = [
        "/proc/kcore /agent/empty-file",
        "/proc/sys /agent/empty-directory",
        "/proc/stat /agent/stat",
    ]
    assert isolation()["mask"] == masks
    argv = command_line()
    index = argv.index("/agent/empty-file")
    assert argv[index - 4 : index] == ["--perms", "0000", "--file", "12"]
    index = argv.index("/agent/empty-directory")
    assert argv[index - 3 : index] == ["--perms", "0000", "--dir"]


def test_the_zygote_has_the_environment_of_the_code() -> None:
    # bubblewrap starts with an empty environment: --clearenv does not clear /proc/1/environ.
    argv = command_line()
    indexes = [index for index, word in enumerate(argv) if word == "--setenv"]
    variables = {argv[index + 1]: argv[index + 2] for index in indexes}
    assert variables == policy.environment(HOST_ENV)
    assert not {"--clearenv", "--unsetenv"} & set(argv)


def test_rlimits_follow_the_limits() -> None:
    limits = policy.rlimits(Limits(processes=10, cpu_seconds=3, file_bytes=5, open_files=6))
    assert limits["RLIMIT_NPROC"] == (11, 11)
    assert limits["RLIMIT_CPU"] == (3, 4)
    assert limits["RLIMIT_FSIZE"] == (5, 5)
    assert limits["RLIMIT_NOFILE"] == (6, 6)
    assert limits["RLIMIT_CORE"] == (1, 1)
    zero = ("RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE", "RLIMIT_NICE", "RLIMIT_RTPRIO")
    assert {limits[name] for name in zero} == {(0, 0)}
