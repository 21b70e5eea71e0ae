"""The present number of the objects that a sandbox consists of, on this machine.

Processes are all descendants of this process, in any session: it adopts orphans
(PR_SET_CHILD_SUBREAPER), so no process that was started here can hide. They include the drill's own
engine, with its containers, their shims and its mounts.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab.drills import process_tree
from sandbox import policy
from sandbox.docker import profile
from settings.client import child_environment
from settings.sandbox import Backend, SandboxSettings

LABEL = "fettle.sandbox"
"""The label of every container of a sandbox."""
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - looked at, not written to
_GROUPS = Path("/sys/fs/cgroup")


@dataclass(slots=True)
class Census:
    """The counts of one deployment of the sandbox. `supervisors` remembers pids that it has
    seen.
    """

    settings: SandboxSettings
    uids: Collection[int]
    """The users of sandboxes on this host."""
    supervisors: set[int] = field(default_factory=set)
    _existing_folders: frozenset[Path] = field(default_factory=lambda: frozenset(_temporary()))

    def count(self) -> dict[str, int]:
        """All counts that must not grow, by name. The descriptors of an engine are not counted."""
        below, children = _below(), _children()
        self.supervisors |= children
        counts = {
            "processes": len(below),
            "mounts": _lines("/proc/self/mountinfo")
            + sum(_lines(f"/proc/{pid}/mountinfo") for pid in children),
            "cgroups": sum(1 for _ in self._groups()),
            "files": sum(1 for _ in self._files()),
            "descriptors": _descriptors(os.getpid()),
        }
        if self.settings.sandbox is Backend.DOCKER:
            return {**counts, "containers": self._containers()}
        return {**counts, "descriptors below": sum(map(_descriptors, below))}

    def memory(self) -> dict[str, int]:
        """Resident bytes of this process, and of its supervisor; without an engine."""
        sizes = {"worker": _resident(os.getpid())}
        if self.settings.sandbox is Backend.LOCAL:
            sizes["supervisor"] = sum(map(_resident, _children()))
        return sizes

    def memory_below(self) -> int:
        """Resident bytes of all descendants; shared pages count for each process."""
        return sum(map(_resident, _below()))

    def _groups(self) -> Iterator[str]:
        """Control groups of sandboxes, below a group that a supervisor or an engine of the drill
        has made. The empty group of a supervisor stays until the next supervisor starts.
        """
        own_prefixes = (*(f"fettle-{pid}-" for pid in self.supervisors), *self._engine_group())
        for folder, names, _ in os.walk(_GROUPS):
            if any(part.startswith(own_prefixes) for part in folder.split("/")):
                yield from (f"{folder}/{name}" for name in names)

    def _engine_group(self) -> Iterator[str]:
        """The name that `deploy/engine.sh` gives to the control group of an engine's containers."""
        socket = (self.settings.sandbox_engine or "").removeprefix("unix://")
        if self.settings.sandbox is Backend.DOCKER and Path(socket).name == "engine.sock":
            folder = str(Path(socket).parent).encode()
            yield f"fettle-engine-{hashlib.sha256(folder).hexdigest()[:12]}"

    def _files(self) -> Iterator[Path]:
        """The files of the sandboxes' user in the host's folders for temporary files."""
        for path in _temporary():
            with contextlib.suppress(FileNotFoundError):
                if path not in self._existing_folders and path.lstat().st_uid in self.uids:
                    yield path

    def _containers(self) -> int:
        variables = {"DOCKER_HOST": self.settings.sandbox_engine or ""}
        if self.settings.sandbox_engine_tls is not None:
            variables["DOCKER_TLS_VERIFY"] = "1"
            variables["DOCKER_CERT_PATH"] = str(self.settings.sandbox_engine_tls)
        output = subprocess.run(
            ["docker", "ps", "--all", "--quiet", "--filter", f"label={LABEL}"],
            env=child_environment(variables),
            capture_output=True,
            text=True,
            check=True,
        )
        return len(output.stdout.split())


def uids(settings: SandboxSettings) -> Collection[int]:
    """The users of sandboxes on this host: the users of the backend, or this user if it is not
    root.
    """
    if settings.sandbox is Backend.DOCKER:
        return profile.UIDS
    return {policy.HOST_UID if os.geteuid() == 0 else os.geteuid()}


def _temporary() -> Iterator[Path]:
    for folder in _TEMPORARY:
        yield from Path(folder).iterdir()


def _below() -> list[int]:
    """The descendants that live, or that their parent has not reaped. This process, like init, has
    to reap the zombies of orphans.
    """
    own_pid = os.getpid()
    return [
        process.pid
        for process in process_tree.below(own_pid)
        if process.state != "Z" or process.parent != own_pid
    ]


def _children() -> set[int]:
    return {process.pid for process in process_tree.children(os.getpid()) if process.state != "Z"}


def _lines(path: str) -> int:
    with contextlib.suppress(OSError):
        return Path(path).read_bytes().count(b"\n")
    return 0


def _descriptors(pid: int) -> int:
    with contextlib.suppress(OSError):
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return 0


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    return 0
