"""Ssh: how git starts OpenSSH's client, with one key of the operator and the operator's host keys.

The client ignores this machine's configuration, agents and other keys. It connects to a port of
this process, which leads to the host (`worker.egress.proxy`). The server there must have the key
that the list of known hosts has for the name of the host.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from worker.repositories.errors import RepositoryUnavailable, printable

PORT: Final = 22
MISSING: Final = "ssh is not installed: install Debian's package openssh-client"
_CONNECT_SECONDS = 30
_ALIVE_SECONDS = 20
"""After three times this time without an answer, a host counts as unavailable."""
_OPTIONS: Final[Mapping[str, str]] = {
    "AddKeysToAgent": "no",
    "BatchMode": "yes",
    "CheckHostIP": "no",
    "ClearAllForwardings": "yes",
    "ConnectTimeout": str(_CONNECT_SECONDS),
    "ControlMaster": "no",
    "ControlPath": "none",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "GlobalKnownHostsFile": "/dev/null",
    "HostName": "127.0.0.1",
    "IdentitiesOnly": "yes",
    "IdentityAgent": "none",
    "LogLevel": "ERROR",
    "PermitLocalCommand": "no",
    "PreferredAuthentications": "publickey",
    "ProxyCommand": "none",
    "ServerAliveInterval": str(_ALIVE_SECONDS),
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
}
_NOISE = re.compile(r"Could not read from remote|correct access rights|repository exists")
_LINES = 2
"""The last lines of the errors have the reason; banners come before them."""


@dataclass(frozen=True, slots=True)
class Login:
    """How to log in to a host."""

    host: str
    port: int
    key: str | None
    """The operator's file with the key for this host, if there is one."""
    known_hosts: Path | None
    """The operator's file of known hosts, if there is one."""

    @property
    def known_as(self) -> str:
        """The name of the host in lists of known hosts."""
        return self.host if self.port == PORT else f"[{self.host}]:{self.port}"

    def is_known(self) -> bool:
        """Whether the list of known hosts has the host. Blocks."""
        argv = ("ssh-keygen", "-F", self.known_as, "-f", str(self.known_hosts))
        try:
            done = subprocess.run(argv, capture_output=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0


def program() -> str | None:
    """The path of ssh; None if ssh is not installed."""
    return shutil.which("ssh")


def environment(login: Login, port: int) -> Mapping[str, str]:
    """Environment variables for git, so that ssh connects to `port` of this process. Raises
    RepositoryUnavailable."""
    if (ssh := program()) is None:
        raise RepositoryUnavailable(f"this worker cannot reach {login.host}: {MISSING}")
    options = {
        **_OPTIONS,
        "Port": str(port),
        "HostKeyAlias": login.known_as,
        "IdentityFile": login.key or "none",
        "UserKnownHostsFile": str(login.known_hosts or "/dev/null"),
    }
    words = (ssh, "-F", "none", *(f"-o{name}={value}" for name, value in options.items()))
    return {"GIT_SSH_COMMAND": shlex.join(words), "GIT_SSH_VARIANT": "ssh"}


def failure_reason(errors: bytes, login: Login) -> str:
    """The reason of a failure, from the errors of ssh, the host and git; without lines that name a
    file of the operator."""
    files = [str(file) for file in (login.key, login.known_hosts) if file is not None]
    lines = (
        line.removeprefix("remote:").strip()
        for line in errors.decode(errors="replace").splitlines()
    )
    reasons = [
        line
        for line in lines
        if any(map(str.isalpha, line))
        and not _NOISE.search(line)
        and not any(file in line for file in files)
    ]
    return printable("; ".join(reasons[-_LINES:]))
