"""Control groups from texts of `/proc/self` of several kinds of machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.local.cgroups.detection import (
    GroupDirectory,
    NoCgroup,
    choose_groups,
    parse_memberships,
    parse_mounts,
)

V1 = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
V1_OWN = "8:pids:/\n4:memory:/a/b\n1:cpu,cpuacct:/\n9:name=systemd:/\n0::/\n"
V2 = "30 23 0:26 / {at} rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V2_OWN = "0::/system.slice/fettle.service\n"
DOCKER = (
    "700 690 0:32 /docker/abc /sys/fs/cgroup/memory ro,nosuid,nodev master:15 - cgroup cgroup "
    "rw,memory\n"
)
ALL = frozenset({"memory", "pids", "cpu"})


def test_version_1_has_a_group_in_each_hierarchy() -> None:
    assert choose_groups(parse_mounts(V1), parse_memberships(V1_OWN)) == (
        GroupDirectory(Path("/sys/fs/cgroup/cpu,cpuacct"), frozenset({"cpu", "cpuacct"}), 1),
        GroupDirectory(Path("/sys/fs/cgroup/memory/a/b"), frozenset({"memory"}), 1),
        GroupDirectory(Path("/sys/fs/cgroup/pids"), frozenset({"pids"}), 1),
    )


def test_version_2_has_one_group_with_its_delegated_controllers(tmp_path: Path) -> None:
    group = tmp_path / "system.slice/fettle.service"
    group.mkdir(parents=True)
    (group / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    mounts = parse_mounts(V2.format(at=tmp_path))
    assert choose_groups(mounts, parse_memberships(V2_OWN)) == (GroupDirectory(group, ALL, 2),)
    (group / "cgroup.controllers").write_text("pids\n")  # as in a user's session
    result = choose_groups(mounts, parse_memberships(V2_OWN))
    assert isinstance(result, NoCgroup)
    assert "memory controller" in result.reason


def test_memory_in_version_2_and_other_controllers_in_version_1(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory\n")
    lines = [line for line in V1.splitlines(keepends=True) if "cgroup2" not in line]
    lines = [line for line in lines if "/memory" not in line] + [V2.format(at=tmp_path)]
    assert choose_groups(parse_mounts("".join(lines)), parse_memberships("8:pids:/\n0::/\n")) == (
        GroupDirectory(tmp_path, frozenset({"memory"}), 2),
    )


def test_a_container_sees_its_own_group_at_the_mount() -> None:
    memberships = parse_memberships("4:memory:/docker/abc/inner\n")
    groups = choose_groups(parse_mounts(DOCKER.replace(" ro,", " rw,")), memberships)
    directory = Path("/sys/fs/cgroup/memory/inner")
    assert groups == (GroupDirectory(directory, frozenset({"memory"}), 1),)


@pytest.mark.parametrize(
    ("mountinfo", "memberships", "reason"),
    [
        ("", "", "no control groups are mounted"),
        (DOCKER, "4:memory:/docker/abc\n", "mounted read-only"),
        (DOCKER.replace(" ro,", " rw,"), "4:memory:/docker/abcdef\n", "not available"),
        (DOCKER.replace(" ro,", " rw,"), "4:memory:/../../x\n", "not available"),
    ],
)
def test_without_a_group_the_result_has_the_reason(
    mountinfo: str, memberships: str, reason: str
) -> None:
    result = choose_groups(parse_mounts(mountinfo), parse_memberships(memberships))
    assert isinstance(result, NoCgroup)
    assert reason in result.reason
