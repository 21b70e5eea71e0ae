"""The layers of isolation of a container, from what a probe found in it and the engine's facts.

They have the names of the local backend's (`sandbox/layers.py`), so that the two can be compared.
"""

from __future__ import annotations

import json

from sandbox.docker.engine import Facts
from sandbox.docker.profile import HOSTNAME, UIDS, ContainerTemplate
from sandbox.layers import ADDRESS_SPACE, MEMORY, NAMESPACES, environment, layer, reach, rights
from sandbox.protocol import Layer

_OWN_RUNTIMES = {None, "runc", "crun"}


def layers(found: str, facts: Facts, template: ContainerTemplate) -> tuple[Layer, ...]:
    """The layers, in the order of a reader's interest."""
    inside = json.loads(found)
    own = {**template.environment, "HOSTNAME": HOSTNAME}
    return (
        Layer("engine", True, f"Docker {facts.version}, API {facts.api}, kernel {facts.kernel}"),
        layer(
            "kernel of its own",
            f"runtime {template.runtime}",
            "the code and this engine's machine share one kernel; runsc or a VM would not",
            active=template.runtime not in _OWN_RUNTIMES,
        ),
        *reach(inside),
        environment(inside, sum(len(f"{name}={value}\0") for name, value in own.items())),
        *rights(inside),
        *_bounds(facts),
    )


def _bounds(facts: Facts) -> tuple[Layer, ...]:
    """What the engine says that it does."""
    missing = ", ".join(sorted({"memory", "swap", "pids", "cpu"} - facts.bounds))
    return (
        layer(
            "namespaces",
            NAMESPACES,
            "pid, net, ipc, uts, mount and cgroup are the sandbox's own; the user namespace is the "
            "engine's (a rootless engine, or its userns-remap, would give another)",
            active=bool({"rootless", "userns"} & set(facts.security)),
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
            if "pids" in facts.bounds
            else "counted per user, and each sandbox is another: the engine has no pids controller",
        ),
        MEMORY,
        layer(
            "cgroup",
            "memory without swap, processes and CPU time are bounded by the kernel",
            f"not bounded by the engine: {missing}"
            + (f"; {ADDRESS_SPACE}" if "memory" not in facts.bounds else ""),
            active=not missing,
        ),
    )
