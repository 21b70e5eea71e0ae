"""Remedies: from an error while making a sandbox to what a person can do. Pure but for `look`.

Each rule reads the error text and this machine's facts, and names commands that remove the cause.
What only a person can decide (to loosen a kernel's setting) is described, never done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_SWITCHES = {
    "kernel.unprivileged_userns_clone": "1",  # Debian's own
    "kernel.apparmor_restrict_unprivileged_userns": "0",  # Ubuntu from 23.10 on
}
_COUNTS = ("user.max_user_namespaces", "user.max_pid_namespaces", "user.max_net_namespaces")
_ENOUGH = 15_000
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io")

_REFUSED = ("namespace", "uid map", "Permission denied", "Operation not permitted", "unshare")
_PROC, _ROOT = ("mount proc", "mounting proc"), ("pivot_root", "make / slave", "bind mount")
_LAYERS, _UPPER = "overlay /work", "extended attributes of tmpfs"
_FULL = ("No space left on device", "Resource temporarily unavailable")
_CONTAINER = (
    "let the container make namespaces: docker run --security-opt "
    "seccomp=deploy/seccomp-worker.json --security-opt systempaths=unconfined --security-opt "
    "apparmor=unconfined (docs/deployment.md says what each gives away, and Kubernetes' words)"
)


@dataclass(frozen=True, slots=True)
class Host:
    """What decides whether an unprivileged user may have namespaces."""

    sysctls: Mapping[str, str] = field(default_factory=dict)
    """By name; those that this kernel has."""
    contained: bool = False
    """Whether this process runs inside a container."""
    filtered: bool = False
    """Whether a system call filter is on this process already."""
    namespaces: bool = True
    """Whether this kernel has user namespaces at all."""


def look() -> Host:
    """Read the facts of this machine."""
    values = {
        name: _read(f"/proc/sys/{name.replace('.', '/')}").strip()
        for name in (*_SWITCHES, *_COUNTS)
    }
    return Host(
        sysctls={name: value for name, value in values.items() if value},
        contained=any(Path(mark).exists() for mark in _CONTAINER_MARKS),
        filtered="\nSeccomp:\t2" in _read("/proc/self/status"),
        namespaces=Path("/proc/self/ns/user").exists(),
    )


def explain(stderr_text: str, host: Host) -> str:
    """The error text, and what may remove its cause, the likeliest first."""
    text = stderr_text.strip()[-600:] or "bubblewrap ended without a word"
    advice = tuple(_advice(text, host))
    remedy = f" Try: {'; or: '.join(advice)}." if advice else ""
    return f"no sandbox could be made: {text}.{remedy}"


def _advice(said: str, host: Host) -> Iterator[str]:
    if _UPPER in said:
        yield "a kernel from 6.6 on, where an overlay takes what is written into a tmpfs"
        return
    if _LAYERS in said:
        yield (
            "a kernel from 5.11 on, where a user may mount an overlay, or the docker backend: runs "
            "on layers, as jobs on repositories make them, need it. Others do not"
        )
        return
    if not any(word in said for word in (*_REFUSED, *_PROC, *_ROOT, *_FULL)):
        return
    if not host.namespaces:
        yield "a kernel with user namespaces (CONFIG_USER_NS), or the docker backend"
        return
    yield from _switches(said, host)
    full = any(word in said for word in _FULL)
    if host.contained or host.filtered:
        yield "give the container more processes (docker run --pids-limit)" if full else _CONTAINER
    elif full:
        yield "raise the user's limit of processes (ulimit -u), which sandboxes count against"
    elif "namespace" in said and all(
        host.sysctls.get(name, good) == good for name, good in _SWITCHES.items()
    ):
        yield "allow unprivileged user namespaces on this kernel, or use the docker backend"


def _switches(said: str, host: Host) -> Iterator[str]:
    """Settings of the kernel that are wrong, each with the command, and how it lasts."""
    commands = [
        f"sysctl -w {name}={good}"
        for name, good in _SWITCHES.items()
        if host.sysctls.get(name, good) != good
    ]
    full = _FULL[0] in said
    for name in _COUNTS:
        count = host.sysctls.get(name, "")
        if count == "0" or (full and count.isdigit() and int(count) < _ENOUGH):
            commands.append(f"sysctl -w {name}={_ENOUGH}")
    for command in commands:
        setting = command.removeprefix("sysctl -w ")
        yield f"{command} (to last: echo {setting} >> /etc/sysctl.d/60-fettle.conf)"


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
