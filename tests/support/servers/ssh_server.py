"""A git server over ssh on loopback: OpenSSH's sshd as this user, and git's restricted shell."""

from __future__ import annotations

import contextlib
import getpass
import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
_SERVE = """#!/bin/sh
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
printf '%s\\n' "$SSH_ORIGINAL_COMMAND" >>{folder}/commands
if [ -e {folder}/words ]; then cat {folder}/words >&2; exit 1; fi
while [ -e {folder}/pause ]; do sleep 0.02; done
exec git shell -c "$SSH_ORIGINAL_COMMAND"
"""


@dataclass(frozen=True)
class SshServer:
    """Serves the repositories below `root`, by their folders. `key` is the one that it takes. What
    `pause` and `says` do lasts until the next call."""

    root: Path
    folder: Path
    port: int

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def listed(self) -> str:
        """The host as an operator lists it."""
        return f"ssh://{self.place}"

    @property
    def key(self) -> Path:
        return self.folder / "key"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def url(self, name: str) -> str:
        return f"ssh://{getpass.getuser()}@{self.place}{self.root / name}"

    @property
    def commands(self) -> list[str]:
        """What it was asked, in order."""
        file = self.folder / "commands"
        return file.read_text().splitlines() if file.exists() else []

    def forget(self) -> None:
        (self.folder / "commands").unlink(missing_ok=True)

    def says(self, words: str | None) -> None:
        """Refuse everything with these words, or no longer."""
        file = self.folder / "words"
        file.unlink(missing_ok=True)
        if words is not None:
            file.write_text(words)

    def pause(self, *, on: bool) -> None:
        """Hold everything back that it is asked after this, or no longer."""
        file = self.folder / "pause"
        file.touch() if on else file.unlink(missing_ok=True)

    def settings(self, key: Path | None = None, more: str = "") -> dict[str, str]:
        """An operator's, with this key or another one, and more lines of credentials."""
        key = key or self.key
        file = self.folder / f"credentials-{key.name}"
        file.write_text(f"{self.listed} {key}\n{more}")
        file.chmod(0o600)
        return {
            "repo_hosts": self.listed,
            "repo_credentials": str(file),
            "repo_known_hosts": str(self.known_hosts),
        }

    def knows(self, host_key: Path) -> None:
        """Write the file of known hosts, with this as the host's key."""
        kind, key, *_ = host_key.with_suffix(".pub").read_text().split()
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n")


def new_key(file: Path, words: str = "") -> Path:
    """A key of this password in this file, and its public half beside it."""
    asked = ("ssh-keygen", "-q", "-t", "ed25519", "-N", words, "-C", "", "-f", str(file))
    subprocess.run(asked, check=True, stdin=subprocess.DEVNULL)
    return file


@contextlib.contextmanager
def ssh_server(root: Path, *, protocol_2: bool = True) -> Iterator[SshServer]:
    """A server of the repositories below `root`; git's protocol 2 wants `AcceptEnv`."""
    assert SSHD is not None, "sshd is missing: install Debian's package openssh-server"
    folder = root / ".ssh-server"
    folder.mkdir()
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        server = SshServer(root, folder, found.getsockname()[1])
    new_key(folder / "host_key")
    shutil.copy(new_key(server.key).with_suffix(".pub"), folder / "authorized_keys")
    server.knows(folder / "host_key")
    serve = folder / "serve"
    serve.write_text(_SERVE.format(folder=shlex.quote(str(folder))))
    serve.chmod(0o755)
    with _running(folder, server.port, "yes" if protocol_2 else "no"):
        yield server


@contextlib.contextmanager
def _running(folder: Path, port: int, accepts: str) -> Iterator[None]:
    settings = {
        "ListenAddress": f"127.0.0.1:{port}",
        "HostKey": folder / "host_key",
        "AuthorizedKeysFile": folder / "authorized_keys",
        "ForceCommand": folder / "serve",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "AcceptEnv": "GIT_PROTOCOL" if accepts == "yes" else "NOTHING",
    }
    config = folder / "sshd_config"
    config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    if os.getuid() == 0:  # sshd's own, which the package makes where it starts a service
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with (folder / "log").open("wb") as log:
        sshd = subprocess.Popen([str(SSHD), "-D", "-e", "-f", str(config)], stderr=log)
        try:
            _wait(sshd, port, folder / "log")
            yield
        finally:
            sshd.terminate()
            sshd.wait(10)


def _wait(sshd: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + 30
    while sshd.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as made:
            if made.recv(4) == b"SSH-":
                return
        time.sleep(0.02)
    raise AssertionError(log.read_text())
