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
NAMESPACES = "user, pid, net, ipc, uts, mount and cgroup are the sandbox's own"
MEMORY = Layer(
    "memory total", True, "sampled over the whole tree every 50 ms and killed beyond the limit"
)
ADDRESS_SPACE = (
    "the address space of each process is limited instead (RLIMIT_AS), so WebAssembly, fetch of "
    "Node and Java do not run"
)
"""The consequence of a missing control group for memory (`policy.rlimits`)."""


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
        *reach(inside),
        _locks(inside),
        environment(inside, 0),
        *rights(inside),
        _unprivileged(facts["uid"]),
        _processes(inside),
        MEMORY,
        _cgroup(facts),
    )


def layer(name: str, well: str, loss: str, *, active: bool) -> Layer:
    """A layer that says what it does, or what it means that it is not active."""
    return Layer(name, active, well if active else loss)


def reach(inside: Mapping[str, Any]) -> tuple[Layer, ...]:
    """Whether the sandbox's own loopback is all that it reaches, whether it writes nowhere but to
    its tmpfs, and whether the kernel bounds how many files there may be.
    """
    interfaces, writable = ", ".join(inside["interfaces"]), ", ".join(inside["writable"])
    counts = [count for _, count in inside["tmpfs"].values()]
    return (
        layer(
            "network",
            "its own loopback, and no other interface",
            f"interfaces in the sandbox: {interfaces or 'none'}; code may reach others by it",
            active=inside["interfaces"] == ["lo"],
        ),
        layer(
            "filesystem",
            "read-only but for four tmpfs of fixed size",
            f"writable: {writable}; a run may leave something",
            active=not writable,
        ),
        layer(
            "files",
            f"at most {sum(counts):,}, counted by the kernel",
            f"counted every 50 ms, and the run is ended beyond {policy.INODES:,}: a burst may for "
            "a moment take more of the kernel's memory",
            active=all(0 < count <= _BOUNDED for count in counts),
        ),
    )


def rights(inside: Mapping[str, Any]) -> tuple[Layer, ...]:
    """Whether the code has no privilege and gains none, whether the system call filter is in force,
    and Landlock's rules.
    """
    answer, abi = inside["unshare"], inside["landlock"]
    scopes = " and signals and abstract sockets" if abi >= _ALL_SCOPES else ""
    unused = f"ABI {abi} is there and not used" if abi else "this kernel does not offer it"
    return (
        layer(
            "capabilities",
            "none, and none to be gained (no_new_privs)",
            "the code has some, or can gain some: do not rely on this",
            active=inside["capabilities"] == 0 and inside["no_new_privs"],
        ),
        layer(
            "seccomp",
            "an allow-list; a new namespace is answered EPERM",
            f"mode {inside['seccomp']}; a new namespace is answered {answer or 'yes'}: the whole "
            "kernel is open to attack",
            active=inside["seccomp"] == 2 and answer == "EPERM",
        ),
        layer(
            "landlock",
            f"ABI {abi}: files{scopes}, beside the mounts",
            f"{unused}: files and signals are kept apart by namespaces and mounts alone",
            active=inside["landlocked"],
        ),
    )


def environment(inside: Mapping[str, Any], own: int) -> Layer:
    """Whether no more than `own` bytes of the first process's environment can be read."""
    size = inside["environment_of_init"]
    return layer(
        "environment",
        "nothing of the host's is visible, in no process of the sandbox",
        f"{size} bytes of the first process's can be read",
        active=size <= own,
    )


def _locks(inside: Mapping[str, Any]) -> Layer:
    return layer(
        "locks",
        "on files of the system and the interpreter, met in no other sandbox; on a device such as "
        "/dev/null, and on what little the base container holds, met in all",
        f"met in every sandbox, on files of {', '.join(inside['shared'])}: this kernel has no "
        "overlay for users (5.11 does), so two runs can signal to each other, or one stop another "
        "that locks such a file",
        active=not inside["shared"],
    )


def _namespaces(inside: Mapping[str, str]) -> Layer:
    own = Path("/proc/self/ns")
    shared = [name for name, each in inside.items() if each == str((own / name).readlink())]
    return layer(
        "namespaces",
        NAMESPACES,
        f"shared with the host: {', '.join(shared)}; code sees, or reaches, what is in them",
        active=not shared,
    )


def _unprivileged(uid: int) -> Layer:
    return layer(
        "unprivileged",
        f"sandboxes run as uid {uid} of the host",
        "sandboxes run as root of the host: one hole is enough",
        active=uid != 0,
    )


def _processes(inside: Mapping[str, Any]) -> Layer:
    count = inside["processes"]
    return layer(
        "processes",
        f"at most {count} at a time, threads too, for each sandbox",
        "not counted: a fork bomb reaches the host's own limit",
        active=count > 0,
    )


def _cgroup(facts: Mapping[str, Any]) -> Layer:
    return layer(
        "cgroup",
        facts.get("cgroup") or "",
        f"{facts.get('no_cgroup') or 'not used'}; a burst between two samples may reach twice the "
        f"memory limit, and nothing shares out the processors; {ADDRESS_SPACE}",
        active=bool(facts.get("cgroup")),
    )
