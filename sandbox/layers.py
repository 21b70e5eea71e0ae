"""The layers of isolation, from what a probe found inside a sandbox and what the host knows.

A layer that is not active says what that means for its users.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox import policy
from sandbox.protocol import Command, Layer

_PROBE = Path(__file__).resolve().parent / "agent" / "probe.py"
_ALL_SCOPES = 6
"""The ABI from which Landlock cuts off signals and abstract sockets too."""
_BOUNDED = 2 * policy.INODES
"""At most so many files: a tmpfs without a number of its own takes one for every other page."""


def probe() -> Command:
    """The command whose standard output `layers` reads."""
    return Command.python(_PROBE.read_text())


def layers(found: str, facts: Mapping[str, Any]) -> tuple[Layer, ...]:
    """The layers of a local sandbox, from the probe's output and the supervisor's facts.

    Facts: `bubblewrap` (its version), `uid`, and `cgroup` (what bounds what) or `no_cgroup` (why
    there is none).
    """
    inside = json.loads(found)
    return (
        Layer("bubblewrap", True, facts["bubblewrap"]),
        _namespaces(inside["namespaces"]),
        network(inside),
        filesystem(inside),
        files(inside),
        _locks(inside),
        _environment(inside),
        capabilities(inside),
        seccomp(inside),
        landlock(inside),
        _unprivileged(facts["uid"]),
        _processes(inside),
        Layer(
            "memory total",
            True,
            "sampled over the whole tree every 50 ms and killed beyond the limit",
        ),
        _cgroup(facts),
    )


def network(inside: Mapping[str, Any]) -> Layer:
    """Whether the sandbox's own loopback is all that it reaches."""
    reach = ", ".join(inside["interfaces"]) or "none"
    if inside["interfaces"] == ["lo"]:
        return Layer("network", True, "its own loopback, and no other interface")
    return Layer(
        "network", False, f"interfaces in the sandbox: {reach}; code may reach others by it"
    )


def filesystem(inside: Mapping[str, Any]) -> Layer:
    """Whether it writes nowhere but to its tmpfs."""
    writable = ", ".join(inside["writable"])
    if not writable:
        return Layer("filesystem", True, "read-only but for four tmpfs of fixed size")
    return Layer("filesystem", False, f"writable: {writable}; a run may leave something")


def files(inside: Mapping[str, Any]) -> Layer:
    """Whether the kernel bounds how many files there may be."""
    counts = [count for _, count in inside["tmpfs"].values()]
    if all(0 < count <= _BOUNDED for count in counts):
        return Layer("files", True, f"at most {sum(counts):,}, counted by the kernel")
    return Layer(
        "files",
        False,
        f"counted every 50 ms, and the run is ended beyond {policy.INODES:,}: a burst may for a "
        "moment take more of the kernel's memory",
    )


def capabilities(inside: Mapping[str, Any]) -> Layer:
    """Whether the code has no privilege and gains none."""
    if inside["capabilities"] == 0 and inside["no_new_privs"]:
        return Layer("capabilities", True, "none, and none to be gained (no_new_privs)")
    return Layer("capabilities", False, "the code has some, or can gain some: do not rely on this")


def seccomp(inside: Mapping[str, Any]) -> Layer:
    """Whether the system call filter is in force."""
    if inside["seccomp"] == 2 and inside["unshare"] == "EPERM":
        return Layer("seccomp", True, "an allow-list; a new namespace is answered EPERM")
    return Layer(
        "seccomp",
        False,
        f"mode {inside['seccomp']}; a new namespace is answered {inside['unshare'] or 'yes'}: the "
        "whole kernel is open to attack",
    )


def landlock(inside: Mapping[str, Any]) -> Layer:
    """Whether Landlock's rules are in force."""
    abi, loss = (
        inside["landlock"],
        "files and signals are kept apart by namespaces and mounts alone",
    )
    if inside["landlocked"]:
        scopes = " and signals and abstract sockets" if abi >= _ALL_SCOPES else ""
        return Layer("landlock", True, f"ABI {abi}: files{scopes}, beside the mounts")
    if abi == 0:
        return Layer("landlock", False, f"this kernel does not offer it: {loss}")
    return Layer("landlock", False, f"ABI {abi} is there and not used: {loss}")


def _locks(inside: Mapping[str, Any]) -> Layer:
    shared = ", ".join(inside["shared"])
    if not shared:
        return Layer(
            "locks",
            True,
            "on files of the system and the interpreter, met in no other sandbox; on a device such "
            "as /dev/null, and on what little the base container holds, met in all",
        )
    return Layer(
        "locks",
        False,
        f"met in every sandbox, on files of {shared}: this kernel has no overlay for users (5.11 "
        "does), so two runs can signal to each other, or one stop another that locks such a file",
    )


def _namespaces(inside: Mapping[str, str]) -> Layer:
    own = Path("/proc/self/ns")
    shared = [name for name, each in inside.items() if each == str((own / name).readlink())]
    if not shared:
        return Layer(
            "namespaces", True, "user, pid, net, ipc, uts, mount and cgroup are the sandbox's own"
        )
    return Layer(
        "namespaces",
        False,
        f"shared with the host: {', '.join(shared)}; code sees, or reaches, what is in them",
    )


def _environment(inside: Mapping[str, Any]) -> Layer:
    size = inside["environment_of_init"]
    if size == 0:
        return Layer(
            "environment", True, "nothing of the host's is visible, in no process of the sandbox"
        )
    return Layer("environment", False, f"{size} bytes of the first process's can be read")


def _unprivileged(uid: int) -> Layer:
    if uid != 0:
        return Layer("unprivileged", True, f"sandboxes run as uid {uid} of the host")
    return Layer("unprivileged", False, "sandboxes run as root of the host: one hole is enough")


def _processes(inside: Mapping[str, Any]) -> Layer:
    count = inside["processes"]
    if count > 0:
        return Layer("processes", True, f"at most {count} at a time, threads too, for each sandbox")
    return Layer("processes", False, "not counted: a fork bomb reaches the host's own limit")


def _cgroup(facts: Mapping[str, Any]) -> Layer:
    if facts.get("cgroup"):
        return Layer("cgroup", True, facts["cgroup"])
    why = facts.get("no_cgroup") or "not used"
    return Layer(
        "cgroup",
        False,
        f"{why}; a burst between two samples may reach twice the memory limit, and nothing shares "
        "out the processors",
    )
