"""The configuration of a container, as data."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest

from lab.drills.attacks.environment import baseline
from sandbox import policy
from sandbox.docker import profile
from sandbox.protocol import MIB, Limits
from sandbox.seccomp import syscalls
from sandbox.seccomp.allowed_arguments import socket_options
from sandbox.seccomp.filters import engine_profile

UID = profile.UIDS[1]
TOP = Path(__file__).resolve().parents[3]
TEMPLATE = profile.ContainerTemplate(
    image="sha256:abc",
    runtime=None,
    cpus=1.5,
    filter="{}",
    environment={"PATH": "/usr/bin"},
    labels={"fettle.sandbox": "me"},
)


@pytest.fixture
def body():
    return profile.create_request(TEMPLATE, profile.container_limits(Limits()), ("agent",), UID)


def test_a_container_has_no_network_no_privilege_and_no_way_to_the_host(body) -> None:
    host = body["HostConfig"]
    assert (body["NetworkDisabled"], host["NetworkMode"]) == (True, "none")
    assert (host["Privileged"], host["CapDrop"], host["ReadonlyRootfs"]) == (False, ["ALL"], True)
    assert host["SecurityOpt"] == ["no-new-privileges", "seccomp={}"]
    assert (host["Binds"], host["Devices"]) == ([], [])
    assert not {"Mounts", "CapAdd", "PidMode", "UsernsMode", "VolumesFrom", "Links"} & host.keys()
    assert (host["IpcMode"], host["CgroupnsMode"]) == ("private", "private")
    assert not body["User"].startswith(("0", "root"))
    assert body["Env"] == ["PATH=/usr/bin"]


def test_each_sandbox_has_its_own_user_who_owns_its_directories(body) -> None:
    assert body["User"] == f"{UID}:{UID}"
    options = body["HostConfig"]["Tmpfs"].values()
    assert all(f"uid={UID},gid={UID}" in item for item in options)
    assert len({profile.container_name(uid) for uid in profile.UIDS}) == len(profile.UIDS)
    # These uids are unused according to systemd.io/UIDS-GIDS; controls of attacks do not use them
    # either.
    assert set(profile.UIDS) <= set(range(60_578, 61_184))
    assert not {policy.HOST_UID, *baseline.UIDS} & set(profile.UIDS)


def test_a_container_ends_with_its_worker_and_is_removed(body) -> None:
    assert (body["OpenStdin"], body["StdinOnce"], body["Tty"]) == (True, True, False)
    host = body["HostConfig"]
    assert (host["AutoRemove"], host["Init"]) == (True, False)  # the agent is the init process
    assert host["RestartPolicy"] == {"Name": "no"}
    assert host["LogConfig"] == {"Type": "none"}
    assert body["Labels"] == {"fettle.sandbox": "me"}


def test_every_writable_directory_has_a_limit_of_bytes_and_files(body) -> None:
    tmpfs = body["HostConfig"]["Tmpfs"]
    assert set(tmpfs) == {"/work", "/tmp", "/run", "/dev/shm"}
    for options in tmpfs.values():
        assert {"nosuid", "nodev"} <= set(options.split(","))
        sizes = re.findall(r"(?:size|nr_inodes)=(\d+)", options)
        assert len(sizes) == 2
        assert all(int(size) > 0 for size in sizes)
    assert f"size={policy.work_bytes(Limits())}," in tmpfs["/work"]


def test_memory_has_no_swap_and_stays_within_twice_the_limit(body) -> None:
    host = body["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] > Limits().memory_bytes
    assert host["Memory"] < 2 * Limits().memory_bytes
    assert host["PidsLimit"] == Limits().processes + 1  # with the memory of the agent
    assert host["NanoCpus"] == 1_500_000_000
    larger = profile.container_limits(Limits(memory_bytes=600 * MIB)).memory_bytes
    assert larger - host["Memory"] == 88 * MIB


def test_sockets_have_the_small_buffers_of_the_local_backend(body) -> None:
    sysctls = body["HostConfig"]["Sysctls"]
    assert sysctls == dict(policy.SYSCTLS)
    assert set(sysctls) == {"net.ipv4.tcp_wmem", "net.ipv4.tcp_rmem"}  # with the values for IPv6
    assert all(int(item.split()[2]) <= MIB // 8 for item in sysctls.values())


def test_paths_that_the_local_backend_masks_are_masked(body) -> None:
    assert set(policy.MASKED) <= set(body["HostConfig"]["MaskedPaths"])
    assert "/sys" in body["HostConfig"]["MaskedPaths"]


def test_the_request_names_a_runtime_only_if_it_is_not_the_default() -> None:
    container_limits = profile.container_limits(Limits())
    request = profile.create_request(TEMPLATE, container_limits, (), UID)
    assert "Runtime" not in request["HostConfig"]
    gvisor = profile.ContainerTemplate(
        **{name: getattr(TEMPLATE, name) for name in TEMPLATE.__slots__} | {"runtime": "runsc"}
    )
    request = profile.create_request(gvisor, container_limits, (), UID)
    assert request["HostConfig"]["Runtime"] == "runsc"


def test_the_shipped_filter_is_current() -> None:
    shipped = json.loads((TOP / "deploy" / "seccomp-sandbox.json").read_text())
    assert shipped == engine_profile(), "run: python -m sandbox.docker filter"


def test_the_filter_allows_the_same_calls_as_the_local_filter() -> None:
    engine_filter = engine_profile()
    assert engine_filter["defaultAction"] == "SCMP_ACT_ERRNO"
    unconditional = {
        name
        for rule in engine_filter["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule
        for name in rule["names"]
    }
    local = {name for machine in syscalls.MACHINES for name in syscalls.allowed(machine)}
    additional = unconditional - local
    assert {name for name in additional if not name.startswith("landlock_")} == set()
    assert local <= unconditional
    dangerous = {"ptrace", "bpf", "io_uring_setup", "mount", "unshare", "clone", "clone3", "socket"}
    assert not dangerous & unconditional


def test_listed_socket_options_are_allowed_and_larger_buffers_are_ignored() -> None:
    rules = [rule for rule in engine_profile()["syscalls"] if rule["names"] == ["setsockopt"]]
    for rule in rules:  # runc treats two tests of one argument as alternatives
        assert len({test["index"] for test in rule["args"]}) == len(rule["args"])

    def results(*arguments: int) -> set[tuple[str, int | None]]:
        return {
            (rule["action"], rule.get("errnoRet"))
            for rule in rules
            if all(
                arguments[test["index"]] & test["value"] == test["valueTwo"]
                for test in rule["args"]
            )
        }

    allowed = {(level, name) for level, names in socket_options().items() for name in names}
    for level in (0, socket.SOL_SOCKET, 2, socket.IPPROTO_TCP, 3 << 30, 1 << 32 | 1):
        for option in (*range(80), 1 << 31, 1 << 31 | 7, 1 << 32 | 8):
            as_int = (level & 0xFFFF_FFFF, option & 0xFFFF_FFFF)  # the kernel expects an int
            ignored = {("SCMP_ACT_ERRNO", 0)} if as_int in {(1, 7), (1, 8)} else set()
            expected = {("SCMP_ACT_ALLOW", None)} if as_int in allowed else ignored
            assert results(3, level, option) == expected, (level, option)


def test_the_container_has_the_fixed_rlimits_of_the_local_backend(body) -> None:
    ulimits = {it["Name"]: (it["Soft"], it["Hard"]) for it in body["HostConfig"]["Ulimits"]}
    assert ulimits["memlock"] == ulimits["nice"] == ulimits["rtprio"] == (0, 0)
    assert ulimits["core"] == (1, 1)
