"""The policy of a container: what code may see, write, reach and use. Read this file in a security
review. Pure.

It states `policy.py` in the engine's terms: the same sizes, masks and rlimits. The engine's system
call filter has the same tables as the one of the backend `local` (`seccomp/filters.py`).

- Visible: its image (read-only), and a `/proc` in which the files of `MASKED` are covered; no
  `/sys`.
- Writable: `/work`, `/tmp`, `/run` and `/dev/shm`. Each is a tmpfs of a fixed size, which ends with
  the container.
- Network: its own loopback, with small socket buffers. It has no other interface, and no mount or
  socket of the host. If its command has a proxy, relays (`zygote/relay.py`) take connections to one
  port of that loopback to the caller.
- Identity: an unprivileged user without capabilities, who cannot gain any.
- Limits: memory without swap, processes and CPU time by its cgroup; the rlimits for each process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox import policy
from sandbox.protocol import MIB, Limits

UIDS = range(60_580, 61_092)
"""The uids of sandboxes; each sandbox has a different one. The kernel counts timers, descriptors in
flight and watches for each user of a machine, so one sandbox must not use up the limit of another.
No other program uses these uids, and `policy.HOST_UID` is not one of them.
"""
HOSTNAME = "sandbox"
LIBRARY_BYTES = 96 * MIB
"""The memory of the libraries that a container's agent has loaded (81 MiB here). On `local` they
are charged to the zygote."""
AGENT_PROCESSES = 1
"""The agent, which is the container's init: the code's signals cannot reach it, and it reaps the
code's orphans. The engine's own init would be one more process that the code can see.
"""
RELAY_BYTES = 8 * MIB
RELAY_THREADS = 2
"""The resources of one relay (`zygote/relay.py`)."""
STOP_SECONDS = 1

MASKED = (*policy.MASKED, "/proc/stat", "/sys")
"""An engine masks a file with an empty file, also `/proc/stat`."""
READ_ONLY = ("/proc/sys",)


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """The limits that are fixed when a container is made."""

    work_bytes: int
    memory_bytes: int
    processes: int
    work_files: int


@dataclass(frozen=True, slots=True)
class ContainerTemplate:
    """The common part of all containers of a backend."""

    image: str
    runtime: str | None
    cpus: float
    filter: str
    """The engine's seccomp profile, as JSON text."""
    environment: Mapping[str, str]
    labels: Mapping[str, str]


def container_limits(limits: Limits) -> ContainerLimits:
    """The limits of a container for a run with these limits.

    The cgroup limits the memory of the run at every moment, as in a `local` sandbox. The agent
    samples the memory of the code's processes, too, but its samples may be late, because it shares
    the processors of the code.
    """
    return ContainerLimits(
        work_bytes=policy.work_bytes(limits),
        memory_bytes=policy.cgroup_bytes(limits) + LIBRARY_BYTES,
        processes=limits.processes + AGENT_PROCESSES,
        work_files=policy.work_inodes(limits),
    )


def add_trees(container_limits: ContainerLimits, work_bytes: int, files: int) -> ContainerLimits:
    """Add a copy of trees in `/work`, with its bytes and files. They are not counted as the
    code's memory.
    """
    return replace(
        container_limits,
        work_bytes=container_limits.work_bytes + work_bytes,
        memory_bytes=container_limits.memory_bytes + work_bytes,
        work_files=container_limits.work_files + files,
    )


def add_relays(container_limits: ContainerLimits, relays: int) -> ContainerLimits:
    """Add the resources of `relays` relays, which are not counted as the code's processes."""
    return replace(
        container_limits,
        memory_bytes=container_limits.memory_bytes + relays * RELAY_BYTES,
        processes=container_limits.processes + 1 + relays * RELAY_THREADS,
    )


def container_name(uid: int) -> str:
    """The name of the container with this uid. An engine gives each name once, so no two sandboxes
    of an engine have the same uid, also of different workers.
    """
    return f"fettle-sandbox-{uid}"


def create_request(
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
        # Its input ends when the attached client disconnects, and the agent ends with its input.
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "StopTimeout": STOP_SECONDS,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host_config(template, container_limits, uid),
    }


def _host_config(
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
    work = policy.work_tmpfs(container_limits.work_bytes, container_limits.work_files)
    return {
        tmpfs.path: f"rw,nosuid,nodev,exec,size={tmpfs.size_bytes},nr_inodes={tmpfs.inodes},"
        f"mode={tmpfs.mode},uid={uid},gid={uid}"
        for tmpfs in (work, *policy.FIXED_TMPFS)
    }


def _ulimits() -> list[dict[str, Any]]:
    """The rlimits that do not depend on a command; the agent sets the others for its code."""
    fixed = ("CORE", "MEMLOCK", "MSGQUEUE", "NICE", "RTPRIO", "SIGPENDING")
    rlimits = policy.rlimits(Limits())
    return [
        {
            "Name": name.lower(),
            "Soft": rlimits[f"RLIMIT_{name}"][0],
            "Hard": rlimits[f"RLIMIT_{name}"][1],
        }
        for name in fixed
    ]
