"""The host environment: canaries in all places of the host that could be visible in a sandbox."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lab.drills.attacks.environment.netspace import Netspace
from lab.drills.attacks.environment.servers import Servers, serving

VARIABLE = "FETTLE_CANARY"
START = ("cana", "ry-")
"""The secret's first letters, in two parts: a probe that searches memory must not find itself."""
SECRET_LETTERS = 48


@dataclass(frozen=True, slots=True)
class HostEnvironment:
    """The canaries that a probe may reach. `folder` and the canary files are open to all users, so
    that only the sandbox can keep code from them. `descriptor` is a canary file, open and
    inheritable in this process.
    """

    secret: str
    folder: Path
    files: tuple[Path, ...]
    descriptor: int
    servers: Servers
    netspace: Netspace | None

    def facts(self, mark: str) -> dict[str, Any]:
        """The inputs of every probe; see the README. They never contain the secret itself."""
        return {
            "mark": mark,
            "start": list(START),
            "digest": hashlib.sha256(self.secret.encode()).hexdigest(),
            "files": [str(path) for path in self.files],
            "variable": VARIABLE,
            "descriptor": self.descriptor,
            "pid": os.getpid(),
            "pid_namespace": str(Path("/proc/self/ns/pid").readlink()),
            "mount_namespace": str(Path("/proc/self/ns/mnt").readlink()),
            "servers": self.servers.addresses,
            "enclosed": self.netspace is not None,
        }

    def harmed(self) -> list[str]:
        """Canary files that were changed or removed."""
        return [str(path) for path in self.files if not _is(path, self.secret)]


@contextmanager
def host_environment(
    secret: str, descriptor: int, netspace: Netspace | None
) -> Iterator[HostEnvironment]:
    """Plant the canaries; remove all of them afterwards."""
    with TemporaryDirectory(prefix="fettle-attacks-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        files = tuple(_plant(secret, folder))
        try:
            with serving(secret, folder, netspace) as servers:
                yield HostEnvironment(secret, folder, files, descriptor, servers, netspace)
        finally:
            for path in files:
                path.unlink(missing_ok=True)


def _plant(secret: str, folder: Path) -> Iterator[Path]:
    """A canary file in each place that this user may write."""
    folders = (folder, Path.home(), *map(Path, ("/tmp", "/var/tmp", "/root", "/dev/shm", "/srv")))  # noqa: S108
    for target in dict.fromkeys((*folders, Path.cwd())):
        path = target / f".fettle-canary-{secret[-12:]}"
        with contextlib.suppress(OSError):
            path.write_text(secret)
            path.chmod(0o644)
            yield path


def _is(path: Path, secret: str) -> bool:
    try:
        return path.read_text() == secret
    except OSError:
        return False
