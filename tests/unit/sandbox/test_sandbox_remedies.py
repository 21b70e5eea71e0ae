from __future__ import annotations

import pytest

from sandbox.local.remedies import HostFacts, explain

NAMESPACE = "bwrap: No permissions to create new namespace"
MAP = "bwrap: setting up uid map: Permission denied"
PROC = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"
FULL = "bwrap: Creating new namespace failed: No space left on device"


@pytest.mark.parametrize(
    ("error_text", "sysctls", "setting"),
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
def test_a_wrong_setting_is_named_with_the_command_that_corrects_it(
    error_text: str, sysctls: dict[str, str], setting: str
) -> None:
    explanation = explain(error_text, HostFacts(sysctls))
    assert f"sysctl -w {setting}" in explanation
    assert f"echo {setting} >> /etc/sysctl.d/60-fettle.conf" in explanation
    assert error_text in explanation


def test_correct_settings_are_not_named() -> None:
    correct = {"kernel.unprivileged_userns_clone": "1", "user.max_user_namespaces": "9"}
    explanation = explain(NAMESPACE, HostFacts(correct))
    assert "sysctl" not in explanation
    assert "docker backend" in explanation


@pytest.mark.parametrize("host", [HostFacts(in_container=True), HostFacts(has_filter=True)])
def test_in_a_container_the_remedy_is_an_option_of_the_container(host: HostFacts) -> None:
    assert "seccomp=deploy/seccomp-worker.json" in explain(PROC, host)
    assert "--pids-limit" in explain(FULL, host)


@pytest.mark.parametrize("host", [HostFacts(), HostFacts(in_container=True, has_filter=True)])
def test_an_unknown_error_gets_no_advice(host: HostFacts) -> None:
    assert "Try:" not in explain("ModuleNotFoundError: No module named 'x'", host)


def test_without_overlays_for_users_the_remedy_is_a_newer_kernel_or_docker() -> None:
    explanation = explain(
        "mount overlay /work: Operation not permitted",
        HostFacts({"kernel.unprivileged_userns_clone": "0"}),
    )
    assert "5.11" in explanation
    assert "docker backend" in explanation
    assert "sysctl" not in explanation


def test_without_attributes_of_a_tmpfs_the_remedy_is_a_newer_kernel() -> None:
    explanation = explain("extended attributes of tmpfs: Operation not supported", HostFacts())
    assert "6.6" in explanation
    assert "docker" not in explanation
