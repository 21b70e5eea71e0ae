"""The isolation layers of a probe's findings: the text of an inactive layer states the loss."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.isolation_layers import local_layers
from sandbox.protocol import IsolationLayer

FINDINGS = {
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


def layers_by_name(findings: dict[str, Any] | None = None) -> dict[str, IsolationLayer]:
    layers = local_layers(json.dumps(FINDINGS | (findings or {})), FACTS)
    return {layer.name: layer for layer in layers}


def test_without_a_fault_every_layer_is_active() -> None:
    assert [layer for layer in layers_by_name().values() if not layer.active] == []


@pytest.mark.parametrize(
    ("findings", "name", "loss"),
    [
        ({"interfaces": ["lo", "eth0"]}, "network", "eth0"),
        ({"writable": ["/usr/probe"]}, "filesystem", "leave files"),
        ({"tmpfs": {"/work": [1 << 26, 3_000_000]}}, "files", "a burst"),
        ({"shared": ["/opt/venv", "/usr"]}, "locks", "files of /opt/venv, /usr are shared"),
        ({"capabilities": 1}, "capabilities", "do not rely"),
        ({"seccomp": 0}, "seccomp", "whole kernel"),
        ({"landlocked": False}, "landlock", "but not used"),
        ({"environment_of_init": 9}, "environment", "9 bytes"),
        ({"processes": -1}, "processes", "fork bomb"),
    ],
)
def test_the_text_of_an_inactive_layer_states_the_loss(
    findings: dict[str, Any], name: str, loss: str
) -> None:
    layers = layers_by_name(findings)
    assert [layer.name for layer in layers.values() if not layer.active] == [name]
    assert loss in layers[name].detail
