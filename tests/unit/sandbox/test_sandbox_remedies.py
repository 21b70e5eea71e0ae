from __future__ import annotations

import pytest

from sandbox.local.remedies import HostFacts, explain

NAMESPACE = "bwrap: No permissions to create new namespace"
MAP = "bwrap: setting up uid map: Permission denied"
PROC = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"
FULL = "bwrap: Creating new namespace failed: No space left on device"


@pytest.mark.parametrize(
    ("said", "sysctls", "command"),
    [
        (
            NAMESPACE,
            {"kernel.unprivileged_userns_clone": "0"},
            "kernel.unprivileged_userns_clone=1",
        ),
        (
            MAP,
            {"kernel.apparmor_restrict_unprivileged_userns": "1"},
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (NAMESPACE, {"user.max_user_namespaces": "0"}, "user.max_user_namespaces=15000"),
        (FULL, {"user.max_net_namespaces": "10"}, "user.max_net_namespaces=15000"),
    ],
)
def test_a_switch_that_is_off_is_named_with_its_command(
    said: str, sysctls: dict[str, str], command: str
) -> None:
    found = explain(said, HostFacts(sysctls))
    assert f"sysctl -w {command}" in found
    assert f"echo {command} >> /etc/sysctl.d/60-fettle.conf" in found
    assert said in found


def test_switches_that_are_right_are_not_named() -> None:
    right = {"kernel.unprivileged_userns_clone": "1", "user.max_user_namespaces": "9"}
    found = explain(NAMESPACE, HostFacts(right))
    assert "sysctl" not in found
    assert "docker backend" in found


@pytest.mark.parametrize("host", [HostFacts(in_container=True), HostFacts(has_filter=True)])
def test_in_a_container_it_names_what_the_container_is_to_be_given(host: HostFacts) -> None:
    assert "seccomp=deploy/seccomp-worker.json" in explain(PROC, host)
    assert "--pids-limit" in explain(FULL, host)


@pytest.mark.parametrize("host", [HostFacts(), HostFacts(in_container=True, has_filter=True)])
def test_another_fault_gets_no_advice_that_would_mislead(host: HostFacts) -> None:
    assert "Try:" not in explain("ModuleNotFoundError: No module named 'x'", host)


def test_a_kernel_without_overlays_for_users_is_named_for_what_it_prevents() -> None:
    found = explain(
        "mount overlay /work: Operation not permitted",
        HostFacts({"kernel.unprivileged_userns_clone": "0"}),
    )
    assert "5.11" in found
    assert "docker backend" in found
    assert "sysctl" not in found


def test_a_kernel_whose_tmpfs_has_no_attributes_is_named_for_the_copies_it_takes() -> None:
    found = explain("extended attributes of tmpfs: Operation not supported", HostFacts())
    assert "6.6" in found
    assert "docker" not in found
