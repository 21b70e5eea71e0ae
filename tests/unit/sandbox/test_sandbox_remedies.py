from __future__ import annotations

import pytest

from sandbox.remedies import Host, explain

NAMESPACE = "bwrap: No permissions to create new namespace"


@pytest.mark.parametrize(
    ("sysctls", "command"),
    [
        ({"kernel.unprivileged_userns_clone": "0"}, "kernel.unprivileged_userns_clone=1"),
        (
            {"kernel.apparmor_restrict_unprivileged_userns": "1"},
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ({"user.max_user_namespaces": "0"}, "user.max_user_namespaces=15000"),
    ],
)
def test_a_switch_that_is_off_is_named_with_its_command(
    sysctls: dict[str, str], command: str
) -> None:
    said = explain(NAMESPACE, Host(sysctls))
    assert f"sysctl -w {command}" in said
    assert NAMESPACE in said


def test_switches_that_are_right_are_not_named() -> None:
    right = {"kernel.unprivileged_userns_clone": "1", "user.max_user_namespaces": "9"}
    assert "sysctl" not in explain(NAMESPACE, Host(right))


def test_in_a_container_it_names_the_profile_and_proc() -> None:
    said = explain("bwrap: Can't mount proc on /newroot/proc", Host(contained=True))
    assert "seccomp=PROFILE" in said
    assert "systempaths=unconfined" in said


def test_a_silent_end_is_told_as_such_and_a_long_one_shortened() -> None:
    assert "without a word" in explain(" \n", Host())
    assert len(explain("x" * 10_000, Host())) < 1000
