"""The base container: bubblewrap builds it once for many sandboxes. Its files and command line.

See ADR 7.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox import policy
from sandbox.policy import HostEnvironment, HostMount
from sandbox.protocol import SandboxUnavailable
from sandbox.seccomp.filters import bpf_filter


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """The common part of all base containers of a supervisor, read once."""

    host_env: HostEnvironment
    files: Mapping[str, bytes]
    """The files that are written into each base container, by path."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Open file descriptors that bubblewrap inherits."""

    control: int
    """The zygote's socket to the supervisor."""
    info: int
    """bubblewrap writes the zygote's pid to it."""
    files: Mapping[str, int]
    """A descriptor for each file of `ContainerSpec.files`, by path."""


def read_spec(host_env: HostEnvironment) -> ContainerSpec:
    """Raises SandboxUnavailable on an architecture without a system call filter."""
    try:
        assembled_filter = bpf_filter(platform.machine())
    except ValueError as error:
        raise SandboxUnavailable(str(error)) from error
    env = (f"env {name}={value}" for name, value in policy.environment(host_env).items())
    context = "\n".join((f"python {host_env.python}", f"main {policy.MAIN}", *env))
    files = {path: text.encode() for path, text in policy.ETC.items()} | _read_sources()
    files |= {path: Path(path).read_bytes() for path in policy.SYSTEM_FILES if Path(path).exists()}
    files |= host_env.configuration
    files |= {f"{policy.SCRIPTS}/{name}": data for name, data in host_env.scripts.items()}
    files[policy.AGENT_CONTEXT] = context.encode()
    files[policy.AGENT_ISOLATION] = policy.isolation(host_env).encode()
    files[policy.AGENT_FILTER] = assembled_filter
    files[policy.AGENT_EMPTY_FILE] = b""
    files[policy.AGENT_STAT] = _proc_stat().encode()
    return ContainerSpec(host_env, files)


def bwrap_command(
    host_env: HostEnvironment, descriptors: Descriptors, *, libraries: bool
) -> list[str]:
    """bubblewrap's command line for a base container. Its zygote loads the usual `libraries` or
    not.

    Two features of bubblewrap are not used, because sandboxes are made inside the base container.
    `--disable-userns` would forbid the namespaces of sandboxes. A mask over `/proc` would keep them
    from mounting their own `/proc`, because the kernel refuses that to a process that sees only a
    masked one. Each sandbox does both for itself; no data of a job exists outside of sandboxes.
    """
    env = policy.environment(host_env)
    return [
        host_env.bwrap,
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--uid", str(policy.UID), "--gid", str(policy.UID)),
        *("--hostname", "base"),
        # The zygote is the first process of its pid namespace: when it ends, the kernel ends all
        # sandboxes.
        *("--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1"),
        *("--info-fd", str(descriptors.info)),
        *(word for name, value in env.items() for word in ("--setenv", name, value)),
        *(word for mount in host_env.mounts for word in _bind_options(mount)),
        *(word for target, path in host_env.links for word in ("--symlink", target, path)),
        *("--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/work"),
        *(_bind_options(host_env.trees) if host_env.trees else ()),
        # For matplotlib's list of fonts in the zygote; each sandbox mounts its own over it.
        *("--perms", "1777", "--size", str(policy.RUN_BYTES), "--tmpfs", "/tmp"),  # noqa: S108
        *(word for path, fd in descriptors.files.items() for word in _file_options(path, fd)),
        *("--perms", "0000", "--dir", policy.AGENT_EMPTY_DIRECTORY),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"),
        *_zygote_command(host_env, descriptors.control, libraries=libraries),
    ]


def _zygote_command(host_env: HostEnvironment, control: int, *, libraries: bool) -> list[str]:
    """The command line of the zygote, which serves the supervisor over the socket `control`.

    Sandboxes are copies of the zygote, so it has the flags and the environment of an interpreter
    that runs code.
    """
    start_code = (
        f"import sys; sys.path.insert(0, {policy.AGENT_ROOT!r}); "
        "from sandbox.zygote.interpreter import start; "
        "from sandbox.zygote.server import prepare_agent; "
        f"start(lambda: prepare_agent({control}, libraries={libraries}))"
    )
    return [host_env.python, "-P", "-c", start_code]


def _bind_options(mount: HostMount) -> tuple[str, ...]:
    return ("--ro-bind", mount.source, mount.target)


def _file_options(path: str, fd: int) -> tuple[str, ...]:
    mode = "0755" if path.startswith(f"{policy.SCRIPTS}/") else "0644"
    is_empty_file = path == policy.AGENT_EMPTY_FILE
    return ("--perms", "0000" if is_empty_file else mode, "--file", str(fd), path)


def _proc_stat() -> str:
    boot_time = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return policy.proc_stat(os.cpu_count() or 1, int(boot_time))


def _read_sources() -> dict[str, bytes]:
    """The modules of this package that run in a sandbox: `agent`, `zygote`, and their imports."""
    package = Path(__file__).resolve().parent.parent
    modules = sorted([*package.glob("agent/*.py"), *package.glob("zygote/*.py")])
    files = (package / "__init__.py", package / "paths.py", *modules)
    return {
        f"{policy.AGENT_ROOT}/sandbox/{file.relative_to(package)}": file.read_bytes()
        for file in files
    }
