"""The layers of isolation of a container, from what a probe found in it and the engine's facts.

They have the names of the local backend's (`sandbox/layers.py`), so that the two can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sandbox.docker.engine import Facts
from sandbox.docker.profile import HOSTNAME, UIDS, ContainerTemplate
from sandbox.layers import capabilities, files, filesystem, landlock, network, seccomp
from sandbox.protocol import Layer

_OWN_RUNTIMES = {None, "runc", "crun"}
_SHARED_KERNEL = "the code and this engine's machine share one kernel; runsc or a VM would not"


def layers(found: str, facts: Facts, template: ContainerTemplate) -> tuple[Layer, ...]:
    """The layers, in the order of a reader's interest."""
    inside = json.loads(found)
    return (
        Layer("engine", True, f"Docker {facts.version}, API {facts.api}, kernel {facts.kernel}"),
        Layer(
            "kernel of its own",
            template.runtime not in _OWN_RUNTIMES,
            f"runtime {template.runtime}"
            if template.runtime not in _OWN_RUNTIMES
            else _SHARED_KERNEL,
        ),
        *_found(inside, template),
        *_bounds(facts),
    )


def _found(inside: Mapping[str, Any], template: ContainerTemplate) -> tuple[Layer, ...]:
    """What the probe has seen."""
    answer = {**template.environment, "HOSTNAME": HOSTNAME}
    own = sum(len(f"{name}={value}\0") for name, value in answer.items())
    return (
        network(inside),
        filesystem(inside),
        files(inside),
        Layer(
            "environment",
            inside["environment_of_init"] <= own,
            "nothing of the host's is visible, in no process of the sandbox",
        ),
        capabilities(inside),
        seccomp(inside),
        landlock(inside),
    )


def _bounds(facts: Facts) -> tuple[Layer, ...]:
    """What the engine says that it does."""
    mapped = bool({"rootless", "userns"} & set(facts.security))
    missing = ", ".join(sorted({"memory", "swap", "pids", "cpu"} - facts.bounds))
    counted = "pids" in facts.bounds
    return (
        Layer(
            "namespaces",
            mapped,
            "user, pid, net, ipc, uts, mount and cgroup are the sandbox's own"
            if mapped
            else "pid, net, ipc, uts, mount and cgroup are the sandbox's own; the user namespace "
            "is the engine's (a rootless engine, or its userns-remap, would give another)",
        ),
        Layer(
            "unprivileged",
            0 not in UIDS,
            f"each sandbox runs as another user: uid {UIDS[0]} to {UIDS[-1]} of its user namespace",
        ),
        Layer(
            "processes",
            True,
            "counted per sandbox"
            if counted
            else "counted per user, and each sandbox is another: the engine has no pids controller",
        ),
        Layer(
            "memory total",
            True,
            "sampled over the whole tree every 50 ms and killed beyond the limit",
        ),
        Layer(
            "cgroup",
            not missing,
            f"not bounded by the engine: {missing}"
            if missing
            else "memory without swap, processes and CPU time are bounded by the kernel",
        ),
    )
