"""From what bubblewrap complains about to what a person can do about it. Pure but for `look`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_SWITCHES = {
    "kernel.unprivileged_userns_clone": "1",
    "kernel.apparmor_restrict_unprivileged_userns": "0",
}
_COUNT = "user.max_user_namespaces"
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io")


@dataclass(frozen=True, slots=True)
class Host:
    """What bears on whether an unprivileged user may have namespaces."""

    sysctls: Mapping[str, str] = field(default_factory=dict)
    """By name; those that this kernel has."""
    contained: bool = False
    """Whether this process runs inside a container."""


def look() -> Host:
    """Read the facts of this machine."""
    values = {}
    for name in (*_SWITCHES, _COUNT):
        place = Path("/proc/sys") / name.replace(".", "/")
        if place.is_file():
            values[name] = place.read_text().strip()
    return Host(values, any(Path(mark).exists() for mark in _CONTAINER_MARKS))


def explain(complaint: str, host: Host) -> str:
    """The complaint, and the commands that may remove its cause, the likeliest first."""
    said = complaint.strip()[-600:] or "bubblewrap ended without a word"
    advice = [
        f"sysctl -w {name}={good}"
        for name, good in _SWITCHES.items()
        if host.sysctls.get(name, good) != good
    ]
    if host.sysctls.get(_COUNT) == "0":
        advice.append(f"sysctl -w {_COUNT}=15000")
    if host.contained:
        advice.append(
            "start the container with a seccomp profile that allows unshare, clone, mount and "
            "pivot_root, and with /proc unmasked (docker run --security-opt seccomp=PROFILE "
            "--security-opt systempaths=unconfined; in Kubernetes procMount: Unmasked)"
        )
    if "uid map" in said and not advice:
        advice.append("sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
    if not advice and "namespace" in said:
        advice.append("allow unprivileged user namespaces on this kernel")
    remedy = f" Try: {'; or: '.join(advice)}." if advice else ""
    return f"no room could be made: {said}.{remedy}"
