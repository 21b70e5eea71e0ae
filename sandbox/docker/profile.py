"""What a container may see, hold and do: the one file to read in a security review. Pure.

It is `policy.py` in the engine's words: the same sizes, masks and rlimits. Beside it stands
`seccomp.py`, which makes the engine's system call filter of the same tables as the local one.

- It sees: its image (read-only), a `/proc` with the telling files masked, no `/sys`.
- It writes: `/work`, `/tmp`, `/run`, `/dev/shm`, each a tmpfs of a fixed size that dies with it.
- It reaches: its own loopback, over sockets with small buffers. There is no other interface, and no
  mount or socket of the host. Where its command has a proxy, relays (`zygote/relay.py`) take
  what is connected to one port of that loopback to the caller.
- It is: an unprivileged user without capabilities, who cannot gain any.
- It holds: memory without swap, processes and CPU time by its cgroup; the rlimits per process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox import policy
from sandbox.protocol import MIB, Limits

UIDS = range(60_580, 61_092)
"""The users that sandboxes run as, each another: timers, descriptors in flight and watches are
counted by the kernel for each user of a machine, and what one sandbox takes is not to be missing in
another. Nobody else is one of them, nor is `policy.HOST_UID`.
"""
HOSTNAME = "sandbox"
LOADED_BYTES = 96 * MIB
"""What the libraries take that a container's agent has loaded (81 MiB here). On `local` they are
charged to the process that all sandboxes are forked from."""
OWN_PROCESSES = 1
"""The agent, which is the container's init: out of reach of the code's signals, and it reaps what
the code leaves. The engine's own init would be one more process that the code can look at.
"""
RELAY_BYTES = 8 * MIB
RELAY_THREADS = 2
"""What one relay takes (`zygote/relay.py`)."""
STOP_SECONDS = 1

MASKED = (*policy.MASKED, "/proc/stat", "/sys")
"""An engine masks a file with an empty one: `/proc/stat`, too."""
READ_ONLY = ("/proc/sys",)


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """What is fixed when a container is made, as far as limits decide it. In bytes; CPUs."""

    work_bytes: int
    memory_bytes: int
    processes: int
    work_files: int


@dataclass(frozen=True, slots=True)
class ContainerTemplate:
    """What all containers of a backend have in common."""

    image: str
    runtime: str | None
    cpus: float
    filter: str
    """The engine's seccomp profile, as JSON text."""
    environment: Mapping[str, str]
    labels: Mapping[str, str]


def container_limits(limits: Limits) -> ContainerLimits:
    """The shape of a sandbox for these limits.

    The cgroup holds the run to its memory at every moment, as the one of a `local` sandbox does.
    What the code's processes hold is sampled by the agent, too: but that shares their processors.
    """
    return ContainerLimits(
        work_bytes=policy.work_bytes(limits),
        memory_bytes=policy.group_bytes(limits) + LOADED_BYTES,
        processes=limits.processes + OWN_PROCESSES,
        work_files=policy.work_inodes(limits),
    )


def with_base(container_limits: ContainerLimits, work_bytes: int, files: int) -> ContainerLimits:
    """The shape of a sandbox whose `/work` begins as a copy of so many bytes and files: they are
    the engine's memory, and not the code's.
    """
    return replace(
        container_limits,
        work_bytes=container_limits.work_bytes + work_bytes,
        memory_bytes=container_limits.memory_bytes + work_bytes,
        work_files=container_limits.work_files + files,
    )


def with_relays(container_limits: ContainerLimits, relays: int) -> ContainerLimits:
    """The shape of a sandbox with a proxy, in which so many relays may run: they are not the code's
    processes.
    """
    return replace(
        container_limits,
        memory_bytes=container_limits.memory_bytes + relays * RELAY_BYTES,
        processes=container_limits.processes + 1 + relays * RELAY_THREADS,
    )


def name(uid: int) -> str:
    """A container's. An engine gives each name once, so no two sandboxes of it are one user, not
    even those of different workers.
    """
    return f"fettle-sandbox-{uid}"


def container(
    template: ContainerTemplate,
    container_limits: ContainerLimits,
    command: tuple[str, ...],
    uid: int,
) -> dict[str, Any]:
    """The body of `POST /containers/create`."""
    return {
        "Image": template.image,
        "Entrypoint": [],
        "Cmd": list(command),
        "Env": [f"{name}={value}" for name, value in template.environment.items()],
        "User": f"{uid}:{uid}",
        "WorkingDir": "/work",
        "Hostname": HOSTNAME,
        "Domainname": "",
        "Labels": dict(template.labels),
        "NetworkDisabled": True,
        "Tty": False,
        # Its input ends when the attached client goes away; the agent ends with its input.
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "StopTimeout": STOP_SECONDS,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host(template, container_limits, uid),
    }


def _host(
    template: ContainerTemplate, container_limits: ContainerLimits, uid: int
) -> dict[str, Any]:
    return {
        "Memory": container_limits.memory_bytes,
        "MemorySwap": container_limits.memory_bytes,
        "PidsLimit": container_limits.processes,
        **({"Runtime": template.runtime} if template.runtime else {}),
        "NanoCpus": round(template.cpus * 1e9),
        "Init": False,
        "AutoRemove": True,
        "RestartPolicy": {"Name": "no"},
        "LogConfig": {"Type": "none"},
        "OomScoreAdj": policy.OOM_SCORE,
        "Privileged": False,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", f"seccomp={template.filter}"],
        "ReadonlyRootfs": True,
        "MaskedPaths": list(MASKED),
        "ReadonlyPaths": list(READ_ONLY),
        "Binds": [],
        "Devices": [],
        "NetworkMode": "none",
        "Sysctls": dict(policy.SYSCTLS),
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "ShmSize": policy.SHM_BYTES,
        "Tmpfs": _tmpfs(container_limits, uid),
        "Ulimits": _ulimits(),
    }


def _tmpfs(container_limits: ContainerLimits, uid: int) -> dict[str, str]:
    places = {
        "/work": (container_limits.work_bytes, container_limits.work_files, "0755"),
        "/tmp": (policy.TMP_BYTES, policy.TMPFS_INODES, "1777"),  # noqa: S108
        "/run": (policy.RUN_BYTES, policy.OWN_INODES, "0755"),
        "/dev/shm": (policy.SHM_BYTES, policy.OWN_INODES, "1777"),  # noqa: S108
    }
    return {
        at: f"rw,nosuid,nodev,exec,size={size},nr_inodes={files},mode={mode},uid={uid},gid={uid}"
        for at, (size, files, mode) in places.items()
    }


def _ulimits() -> list[dict[str, Any]]:
    """The rlimits that no order loosens; the order's own are set for its code by the agent."""
    fixed = ("CORE", "MEMLOCK", "MSGQUEUE", "NICE", "RTPRIO", "SIGPENDING")
    given = policy.rlimits(Limits())
    return [
        {
            "Name": name.lower(),
            "Soft": given[f"RLIMIT_{name}"][0],
            "Hard": given[f"RLIMIT_{name}"][1],
        }
        for name in fixed
    ]
