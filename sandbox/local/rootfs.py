"""What every base container of a supervisor has in common, read once."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox import policy
from sandbox.policy import HostEnvironment
from sandbox.protocol import SandboxUnavailable
from sandbox.seccomp import bpf


@dataclass(frozen=True, slots=True)
class RootfsSpec:
    """What the host gives, and the files that are written into each base container."""

    host_env: HostEnvironment
    texts: Mapping[str, bytes]
    """By path."""


def spec(host_env: HostEnvironment) -> RootfsSpec:
    """Raises SandboxUnavailable on an architecture without a filter."""
    try:
        filter_ = bpf.program(platform.machine())
    except ValueError as error:
        raise SandboxUnavailable(str(error)) from error
    env = (f"env {name}={value}" for name, value in policy.environment(host_env).items())
    given = "\n".join((f"python {host_env.python}", f"main {policy.MAIN}", *env))
    texts = {path: text.encode() for path, text in policy.ETC.items()} | _sources()
    texts |= {path: Path(path).read_bytes() for path in policy.SYSTEM_FILES if Path(path).exists()}
    texts |= host_env.configuration
    texts |= {f"{policy.SCRIPTS}/{name}": data for name, data in host_env.scripts.items()}
    texts[policy.AGENT_GIVEN] = given.encode()
    texts[policy.AGENT_ISOLATION] = policy.isolation(host_env).encode()
    texts[policy.AGENT_FILTER] = filter_
    texts[policy.AGENT_NOTHING] = b""
    texts[policy.AGENT_STAT] = _proc_stat().encode()
    return RootfsSpec(host_env, texts)


def _proc_stat() -> str:
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return policy.proc_stat(os.cpu_count() or 1, int(booted))


def _sources() -> dict[str, bytes]:
    """Our modules that run in a sandbox: `agent`, `zygote`, and what they need."""
    top = Path(__file__).resolve().parent.parent
    folders = sorted([*top.glob("agent/*.py"), *top.glob("zygote/*.py")])
    files = (top / "__init__.py", top / "paths.py", *folders)
    return {f"{policy.AGENT_ROOT}/sandbox/{it.relative_to(top)}": it.read_bytes() for it in files}
