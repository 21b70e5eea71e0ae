"""The report of the isolation layers, from a probe inside a sandbox and from facts of the host.

If a layer is not active, its text says what that means for the operator.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox import policy
from sandbox.protocol import Command, IsolationLayer

_PROBE = Path(__file__).resolve().parent / "agent" / "probe.py"
_ABI_WITH_SCOPES = 6
"""The first ABI in which Landlock also restricts signals and abstract sockets."""
_MAX_BOUNDED_FILES = 2 * policy.INODES
"""A tmpfs with a limit has at most this many files. Without a limit, its number of files depends on
the machine's memory."""
NAMESPACES = "user, pid, net, ipc, uts, mount and cgroup are the sandbox's own"
MEMORY = IsolationLayer(
    "memory total", True, "sampled over the whole tree every 50 ms and killed beyond the limit"
)
ADDRESS_SPACE = (
    "the address space of each process is limited instead (RLIMIT_AS), so WebAssembly, fetch of "
    "Node and Java do not run"
)
"""The consequence of a missing control group for memory (`policy.rlimits`)."""


def probe_command() -> Command:
    """The command that runs the probe; `local_layers` reads its standard output."""
    return Command.python(_PROBE.read_text())


def local_layers(probe_output: str, facts: Mapping[str, Any]) -> tuple[IsolationLayer, ...]:
    """The isolation layers of a local sandbox, from the probe's output and the supervisor's facts.

    Facts: `bubblewrap` (its version), `uid`, and `cgroup` (the resources that it limits) or
    `no_cgroup` (the reason).
    """
    findings = json.loads(probe_output)
    return (
        IsolationLayer("bubblewrap", True, facts["bubblewrap"]),
        _namespaces(findings["namespaces"]),
        *network_and_files(findings),
        _locks(findings),
        environment(findings, 0),
        *privileges(findings),
        _unprivileged(facts["uid"]),
        _processes(findings),
        MEMORY,
        _cgroup(facts),
    )


def choose_layer(name: str, effect: str, loss: str, *, active: bool) -> IsolationLayer:
    """A layer with the text of its `effect`, or of the `loss` if it is not active."""
    return IsolationLayer(name, active, effect if active else loss)


def network_and_files(findings: Mapping[str, Any]) -> tuple[IsolationLayer, ...]:
    """Whether the sandbox reaches only its own loopback and writes only to its tmpfs, and whether
    the kernel limits the number of its files.
    """
    interfaces, writable = ", ".join(findings["interfaces"]), ", ".join(findings["writable"])
    file_limits = [count for _, count in findings["tmpfs"].values()]
    return (
        choose_layer(
            "network",
            "its own loopback, and no other interface",
            f"interfaces in the sandbox: {interfaces or 'none'}; code may reach other machines",
            active=findings["interfaces"] == ["lo"],
        ),
        choose_layer(
            "filesystem",
            "read-only except for four tmpfs of fixed size",
            f"writable: {writable}; a run may leave files for other runs",
            active=not writable,
        ),
        choose_layer(
            "files",
            f"at most {sum(file_limits):,}, counted by the kernel",
            f"counted every 50 ms; a run with more than {policy.INODES:,} is ended, but a burst "
            "may use more of the kernel's memory for a moment",
            active=all(0 < count <= _MAX_BOUNDED_FILES for count in file_limits),
        ),
    )


def privileges(findings: Mapping[str, Any]) -> tuple[IsolationLayer, ...]:
    """Whether the code has and gains no privilege, and whether the system call filter and Landlock
    are active.
    """
    unshare_error, abi = findings["unshare"], findings["landlock"]
    scopes = " and signals and abstract sockets" if abi >= _ABI_WITH_SCOPES else ""
    no_landlock = f"ABI {abi} is available, but not used" if abi else "this kernel has none"
    return (
        choose_layer(
            "capabilities",
            "the code has none and cannot gain any (no_new_privs)",
            "the code has some, or can gain some: do not rely on this sandbox",
            active=findings["capabilities"] == 0 and findings["no_new_privs"],
        ),
        choose_layer(
            "seccomp",
            "an allow-list; a new namespace is refused with EPERM",
            f"mode {findings['seccomp']}; result of a new namespace: {unshare_error or 'allowed'}. "
            "The whole kernel is open to attack",
            active=findings["seccomp"] == 2 and unshare_error == "EPERM",
        ),
        choose_layer(
            "landlock",
            f"ABI {abi}: files{scopes}, in addition to the mounts",
            f"{no_landlock}: only namespaces and mounts protect files and signals",
            active=findings["landlocked"],
        ),
    )


def environment(findings: Mapping[str, Any], own_bytes: int) -> IsolationLayer:
    """Whether at most `own_bytes` of the first process's environment are readable."""
    size = findings["environment_of_init"]
    return choose_layer(
        "environment",
        "no variable of the host is visible in any process of the sandbox",
        f"{size} bytes of the first process's environment are readable",
        active=size <= own_bytes,
    )


def _locks(findings: Mapping[str, Any]) -> IsolationLayer:
    shared = findings["shared"]
    return choose_layer(
        "locks",
        "locks on files of the system and the interpreter are private to each sandbox; locks on a "
        "device such as /dev/null, and on the few files of the base container, are shared",
        f"locks on files of {', '.join(shared)} are shared by all sandboxes: this kernel has no "
        "overlay for users (5.11 does), so two runs can signal to each other, or one can stop "
        "another that locks such a file",
        active=not shared,
    )


def _namespaces(namespaces: Mapping[str, str]) -> IsolationLayer:
    host = Path("/proc/self/ns")
    shared = [name for name, link in namespaces.items() if link == str((host / name).readlink())]
    return choose_layer(
        "namespaces",
        NAMESPACES,
        f"shared with the host: {', '.join(shared)}; code can see or reach the host through them",
        active=not shared,
    )


def _unprivileged(uid: int) -> IsolationLayer:
    return choose_layer(
        "unprivileged",
        f"sandboxes run as uid {uid} of the host",
        "sandboxes run as root of the host: one vulnerability is enough to control it",
        active=uid != 0,
    )


def _processes(findings: Mapping[str, Any]) -> IsolationLayer:
    count = findings["processes"]
    return choose_layer(
        "processes",
        f"at most {count} at a time for each sandbox, including threads",
        "not limited: a fork bomb reaches the host's own limit",
        active=count > 0,
    )


def _cgroup(facts: Mapping[str, Any]) -> IsolationLayer:
    return choose_layer(
        "cgroup",
        facts.get("cgroup") or "",
        f"{facts.get('no_cgroup') or 'not used'}; a burst between two samples may reach twice the "
        f"memory limit, and runs compete for the processors; {ADDRESS_SPACE}",
        active=bool(facts.get("cgroup")),
    )
