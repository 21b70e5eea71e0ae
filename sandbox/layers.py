"""The layers of isolation, told from what a probe found inside a room and what the host knows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.protocol import Command, Layer

_PROBE = Path(__file__).resolve().parent / "room" / "probe.py"


def probe() -> Command:
    """The command whose standard output `layers` reads."""
    return Command.python(_PROBE.read_text())


def layers(found: str, facts: Mapping[str, Any]) -> tuple[Layer, ...]:
    """The layers, from the probe's output and the supervisor's facts (`bubblewrap`, `uid`)."""
    inside = json.loads(found)
    shared = _shared(inside["namespaces"])
    reach = ", ".join(inside["interfaces"])
    writable = ", ".join(inside["writable"])
    return (
        Layer("bubblewrap", True, facts["bubblewrap"]),
        Layer(
            "namespaces",
            not shared,
            f"shared with the host: {', '.join(shared)}"
            if shared
            else "user, pid, net, ipc, uts, mount and cgroup are the room's own",
        ),
        Layer("network", inside["interfaces"] == ["lo"], f"interfaces in the room: {reach}"),
        Layer(
            "filesystem",
            not writable,
            f"writable: {writable}" if writable else "read-only but for four bounded tmpfs",
        ),
        Layer(
            "environment",
            inside["environment_of_init"] == 0,
            "nothing of the host's is visible, in no process of the room",
        ),
        Layer(
            "capabilities",
            inside["capabilities"] == 0 and inside["no_new_privs"],
            "none, and none to be gained (no_new_privs)",
        ),
        Layer(
            "seccomp",
            inside["seccomp"] == 2 and inside["unshare"] == "EPERM",
            f"mode {inside['seccomp']}; a new namespace is answered {inside['unshare'] or 'yes'}",
        ),
        Layer("unprivileged", facts["uid"] != 0, f"rooms run as uid {facts['uid']} of the host"),
        Layer("processes", inside["processes"] > 0, "counted per room"),
        Layer(
            "memory total",
            True,
            "sampled over the whole tree every 50 ms and killed beyond the limit",
        ),
        Layer("cgroup", False, "not used: a burst between two samples is not bounded"),
    )


def _shared(inside: Mapping[str, str]) -> list[str]:
    """Namespaces that are the host's own."""
    own = Path("/proc/self/ns")
    return [name for name, each in inside.items() if each == str((own / name).readlink())]
