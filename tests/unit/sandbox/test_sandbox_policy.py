from __future__ import annotations

from itertools import pairwise

from sandbox import policy
from sandbox.policy import Descriptors, Ground, Tree
from sandbox.protocol import MIB, Limits

GROUND = Ground(
    bwrap="/usr/bin/bwrap",
    python="/opt/venv/bin/python",
    trees=(Tree("/usr", "/usr"), Tree("/tmp/0", "/opt/venv")),
    links=(("usr/bin", "/bin"),),
    masked=("/proc/kcore",),
)
GIVEN = Descriptors(control=7, info=8, seccomp=9, texts={"/etc/passwd": 10, "/room/given": 11})


def words() -> list[str]:
    return policy.arguments(GROUND, 5 * MIB, GIVEN)


def after(word: str) -> list[str]:
    """The words that follow each `word`."""
    return [second for first, second in pairwise(words()) if first == word]


def test_every_namespace_is_its_own() -> None:
    for name in ("user", "pid", "net", "ipc", "uts", "cgroup-try"):
        assert f"--unshare-{name}" in words()
    assert "--share-net" not in words()


def test_it_ends_with_its_supervisor_and_holds_no_terminal() -> None:
    assert {"--die-with-parent", "--new-session", "--disable-userns"} <= set(words())


def test_no_capabilities_and_a_filter() -> None:
    assert after("--cap-drop") == ["ALL"]
    assert after("--seccomp") == ["9"]
    assert after("--uid") == after("--gid") == ["1000"]


def test_nothing_of_the_host_is_writable() -> None:
    assert not {"--bind", "--bind-try", "--dev-bind", "--dev-bind-try"} & set(words())
    assert after("--ro-bind") == ["/usr", "/tmp/0", "/dev/null"]
    assert after("--remount-ro") == ["/dev", "/"]
    assert words().index("--remount-ro") > max(
        at for at, word in enumerate(words()) if word in {"--tmpfs", "--file", "--ro-bind"}
    )


def test_every_tmpfs_has_a_size() -> None:
    every = words()
    places = [at for at, word in enumerate(every) if word == "--tmpfs"]
    sizes = {every[at + 1]: int(every[at - 1]) for at in places}
    assert all(every[at - 2] == "--size" for at in places)
    assert sizes == {
        "/dev/shm": policy.SHM_BYTES,
        "/tmp": policy.TMP_BYTES,
        "/run": policy.RUN_BYTES,
        "/work": 5 * MIB,
    }


def test_the_environment_is_not_bubblewraps_affair() -> None:
    # Set there it would stand in the agent's /proc/PID/environ; and --clearenv does not clear.
    assert not {"--setenv", "--clearenv", "--unsetenv"} & set(words())


def test_the_environment_is_fixed_and_small() -> None:
    env = policy.environment(GROUND)
    assert env["PATH"] == "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin"
    assert (env["HOME"], env["PYTHONPATH"]) == ("/tmp", "/work")
    assert len(env) < 16


def test_the_agent_starts_isolated() -> None:
    assert words()[-6:-1] == ["/opt/venv/bin/python", "-I", "-S", "-B", "-c"]
    assert words()[-1].endswith("main(7, '/room/given')")


def test_rlimits_follow_the_limits() -> None:
    limits = policy.rlimits(Limits(processes=10, cpu_seconds=3, file_bytes=5, open_files=6))
    assert limits["RLIMIT_NPROC"] == (12, 12)
    assert limits["RLIMIT_CPU"] == (3, 4)
    assert limits["RLIMIT_FSIZE"] == (5, 5)
    assert limits["RLIMIT_NOFILE"] == (6, 6)
    assert limits["RLIMIT_CORE"] == (0, 0)


def test_address_space_leaves_room_above_the_memory_limit() -> None:
    default = Limits()
    assert policy.rlimits(default)["RLIMIT_AS"][0] > 4 * default.memory_bytes


def test_the_workspace_has_room_for_every_file_it_may_have() -> None:
    limits = Limits(workspace_bytes=10, workspace_files=3)
    assert policy.work_bytes(limits) == 10 + 3 * 4096


def test_the_uid_of_the_host_is_nobodys() -> None:
    assert 60_578 <= policy.HOST_UID <= 61_183
