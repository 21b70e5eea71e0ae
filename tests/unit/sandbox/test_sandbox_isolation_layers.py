"""What the layers say of findings: one that is off says what that means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.isolation_layers import local_layers
from sandbox.protocol import IsolationLayer

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


def layers_of(found: dict[str, Any] | None = None, **facts: object) -> dict[str, IsolationLayer]:
    shown = local_layers(json.dumps(FOUND | (found or {})), FACTS | facts)
    return {layer.name: layer for layer in shown}


def test_where_everything_holds_every_layer_is_active() -> None:
    assert [layer for layer in layers_of().values() if not layer.active] == []


@pytest.mark.parametrize(
    ("found", "name", "meaning"),
    [
        ({"interfaces": ["lo", "eth0"]}, "network", "eth0"),
        ({"writable": ["/usr/probe"]}, "filesystem", "leave something"),
        ({"tmpfs": {"/work": [1 << 26, 3_000_000]}}, "files", "a burst"),
        ({"shared": ["/opt/venv", "/usr"]}, "locks", "files of /opt/venv, /usr are shared"),
        ({"capabilities": 1}, "capabilities", "do not rely"),
        ({"seccomp": 0}, "seccomp", "whole kernel"),
        ({"landlocked": False}, "landlock", "not used"),
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
