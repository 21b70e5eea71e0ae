"""Finds remedies for an error while a sandbox is made. Pure, except `read_host_facts`.

Each rule reads the error text and this machine's facts, and names commands that remove the cause.
The commands are only described, because an operator has to decide whether to relax a setting of the
kernel.
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
_TREES, _UPPER = "overlay /work", "extended attributes of tmpfs"
"""Names of isolation steps (`agent/isolation.py`)."""
_FULL = ("No space left on device", "Resource temporarily unavailable")
_CONTAINER = (
    "let the container make namespaces: docker run --security-opt "
    "seccomp=deploy/seccomp-worker.json --security-opt systempaths=unconfined --security-opt "
    "apparmor=unconfined (docs/deployment.md describes the risk of each, and Kubernetes' settings)"
)


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The facts that decide whether an unprivileged user may have namespaces."""

    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Values by name, of the settings that this kernel has."""
    in_container: bool = False
    """Whether this process runs inside a container."""
    has_filter: bool = False
    """Whether this process has a system call filter already."""
    has_user_namespaces: bool = True
    """Whether this kernel has user namespaces at all."""


def read_host_facts() -> HostFacts:
    """Read the facts of this machine."""
    values = {
        name: _read(f"/proc/sys/{name.replace('.', '/')}").strip()
        for name in (*_SWITCHES, *_COUNTS)
    }
    return HostFacts(
        sysctls={name: value for name, value in values.items() if value},
        in_container=any(Path(mark).exists() for mark in _CONTAINER_MARKS),
        has_filter="\nSeccomp:\t2" in _read("/proc/self/status"),
        has_user_namespaces=Path("/proc/self/ns/user").exists(),
    )


def explain(error_text: str, host: HostFacts) -> str:
    """The error text, and remedies for its cause, the most likely remedy first."""
    text = error_text.strip()[-600:] or "bubblewrap ended without an error text"
    advice = tuple(_advise(text, host))
    remedy = f" Try: {'; or: '.join(advice)}." if advice else ""
    return f"no sandbox could be made: {text}.{remedy}"


def _advise(text: str, host: HostFacts) -> Iterator[str]:
    if _UPPER in text:
        yield "a kernel from 6.6 on, on which an overlay can write to a tmpfs"
        return
    if _TREES in text:
        yield (
            "a kernel from 5.11 on, on which a user may mount an overlay, or the docker backend: "
            "jobs on repositories need this; other jobs do not"
        )
        return
    if not any(word in text for word in (*_REFUSED, *_PROC, *_ROOT, *_FULL)):
        return
    if not host.has_user_namespaces:
        yield "a kernel with user namespaces (CONFIG_USER_NS), or the docker backend"
        return
    yield from _advise_sysctls(text, host)
    is_at_limit = any(word in text for word in _FULL)
    if host.in_container or host.has_filter:
        more_processes = "give the container more processes (docker run --pids-limit)"
        yield more_processes if is_at_limit else _CONTAINER
    elif is_at_limit:
        yield "raise the user's limit of processes (ulimit -u), which sandboxes count against"
    elif "namespace" in text and all(
        host.sysctls.get(name, good) == good for name, good in _SWITCHES.items()
    ):
        yield "allow unprivileged user namespaces on this kernel, or use the docker backend"


def _advise_sysctls(text: str, host: HostFacts) -> Iterator[str]:
    """The commands that correct settings of the kernel, now and after a restart."""
    commands = [
        f"sysctl -w {name}={good}"
        for name, good in _SWITCHES.items()
        if host.sysctls.get(name, good) != good
    ]
    is_at_limit = _FULL[0] in text
    for name in _COUNTS:
        count = host.sysctls.get(name, "")
        if count == "0" or (is_at_limit and count.isdigit() and int(count) < _ENOUGH):
            commands.append(f"sysctl -w {name}={_ENOUGH}")
    for command in commands:
        setting = command.removeprefix("sysctl -w ")
        yield f"{command} (to last: echo {setting} >> /etc/sysctl.d/60-fettle.conf)"


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
