"""What the layers say of findings: one that is off says what that means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.layers import layers
from sandbox.protocol import Layer

FOUND = {
    "namespaces": {name: f"{name}:[1]" for name in ("user", "pid", "net")},
    "interfaces": ["lo"],
    "capabilities": 0,
    "no_new_privs": True,
    "seccomp": 2,
    "unshare": "EPERM",
    "writable": [],
    "tmpfs": {"/work": [1 << 26, 1000], "/tmp": [1 << 26, 1000]},
    "shared": [],
    "landlock": 7,
    "landlocked": True,
    "environment_of_init": 0,
    "processes": 64,
    "pid": 3,
}
FACTS: dict[str, Any] = {"bubblewrap": "bubblewrap 0.8", "uid": 1234, "cgroup": "memory by v2"}


def layers_of(found: dict[str, Any] | None = None, **facts: object) -> dict[str, Layer]:
    shown = layers(json.dumps(FOUND | (found or {})), FACTS | facts)
    return {layer.name: layer for layer in shown}


def test_where_everything_holds_every_layer_is_active() -> None:
    assert [layer for layer in layers_of().values() if not layer.active] == []


@pytest.mark.parametrize(
    ("found", "name", "meaning"),
    [
        ({"interfaces": ["lo", "eth0"]}, "network", "eth0"),
        ({"writable": ["/usr/probe"]}, "filesystem", "leave something"),
        ({"tmpfs": {"/work": [1 << 26, 3_000_000]}}, "files", "a burst"),
        ({"tmpfs": {"/work": [1 << 26, 0]}}, "files", "a burst"),
        ({"shared": ["/opt/venv", "/usr"]}, "locks", "on files of /opt/venv, /usr: "),
        ({"capabilities": 1}, "capabilities", "do not rely"),
        ({"no_new_privs": False}, "capabilities", "do not rely"),
        ({"seccomp": 0}, "seccomp", "whole kernel"),
        ({"unshare": ""}, "seccomp", "answered yes"),
        ({"landlocked": False}, "landlock", "not used"),
        ({"landlocked": False, "landlock": 0}, "landlock", "does not offer it"),
        ({"environment_of_init": 9}, "environment", "9 bytes"),
        ({"processes": -1}, "processes", "fork bomb"),
    ],
)
def test_a_layer_that_is_off_says_what_that_means(
    found: dict[str, Any], name: str, meaning: str
) -> None:
    shown = layers_of(found)
    assert [layer.name for layer in shown.values() if not layer.active] == [name]
    assert meaning in shown[name].detail


def test_a_shared_namespace_is_named() -> None:
    shown = layers_of({"namespaces": {"net": _own("net"), "pid": "pid:[1]"}})
    assert not shown["namespaces"].active
    assert "host: net;" in shown["namespaces"].detail


def test_without_a_cgroup_it_says_why_and_what_a_burst_may_do() -> None:
    shown = layers_of(cgroup="", no_cgroup="no control groups are mounted here")["cgroup"]
    assert not shown.active
    assert shown.detail.startswith("no control groups are mounted here; a burst between")
    assert "twice the memory limit" in shown.detail


def test_root_of_the_host_is_reported() -> None:
    assert not layers_of(uid=0)["unprivileged"].active


def _own(name: str) -> str:
    return str((Path("/proc/self/ns") / name).readlink())
