"""Ssh: how git starts OpenSSH's client, by one key of the operator's and his list of host keys.

Nothing of this machine's configuration counts, no agent and no other key. The client connects to a
port of this process, which leads to the one host (`worker.egress.proxy`); what it finds there has
to have the key that the list of known hosts has for the host's own name.
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
"""A host that answers nothing for three times this long counts as away."""
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
_NOT_SAID = re.compile(r"Could not read from remote|correct access rights|repository exists")
_LINES = 2
"""What ssh and a host say last: the reason, without the banners before it."""


@dataclass(frozen=True, slots=True)
class Login:
    """How a host is reached: its name and port, the operator's file of its `key`, and that of
    `known` hosts, where he has set them."""

    host: str
    port: int
    key: str | None
    known: Path | None

    @property
    def known_as(self) -> str:
        """The host as lists of known hosts have it."""
        return self.host if self.port == PORT else f"[{self.host}]:{self.port}"

    def is_known(self) -> bool:
        """Whether the list of known hosts has it. Blocks."""
        asked = ("ssh-keygen", "-F", self.known_as, "-f", str(self.known))
        try:
            done = subprocess.run(asked, capture_output=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0


def program() -> str | None:
    """The path of ssh; None where this machine has none."""
    return shutil.which("ssh")


def environment(login: Login, through: int) -> Mapping[str, str]:
    """What makes git reach the host by our port `through`. Raises RepositoryUnavailable."""
    if (ssh := program()) is None:
        raise RepositoryUnavailable(f"this worker cannot reach {login.host}: {MISSING}")
    options = {
        **_OPTIONS,
        "Port": str(through),
        "HostKeyAlias": login.known_as,
        "IdentityFile": login.key or "none",
        "UserKnownHostsFile": str(login.known or "/dev/null"),
    }
    words = (ssh, "-F", "none", *(f"-o{name}={value}" for name, value in options.items()))
    return {"GIT_SSH_COMMAND": shlex.join(words), "GIT_SSH_VARIANT": "ssh"}


def said(errors: bytes, login: Login) -> str:
    """Why it failed, from what ssh, the host and git say; without the lines that name a file of the
    operator's."""
    files = [str(each) for each in (login.key, login.known) if each is not None]
    lines = (
        line.removeprefix("remote:").strip()
        for line in errors.decode(errors="replace").splitlines()
    )
    shown = [
        line
        for line in lines
        if any(map(str.isalpha, line))
        and not _NOT_SAID.search(line)
        and not any(each in line for each in files)
    ]
    return printable("; ".join(shown[-_LINES:]))
