"""The operator's file of credentials: tokens for hosts and indexes, and files with keys of ssh.
Each credential belongs to a tenant.

See ADR 67.
"""

from __future__ import annotations

import base64
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from jobs.model.credentials import OPERATOR, TENANT
from settings.reading.addresses import AddressError, parse_repository_hosts
from worker.repositories.errors import RepositoriesUnfit

SSH: Final = "ssh://"
EVERY: Final = "*"
"""In place of a tenant: all tenants may use the credential."""
_SECTION = re.compile(r"\[([^\[\]:]*)\]")
"""Does not match an IPv6 address, which has colons."""
_FILE = re.compile(r"/[\w./@+:,=-]*")
"""Characters without a meaning in ssh's configuration."""
_UNFIT = "the file's path must be absolute, of letters, digits and . _ / @ + : , = -"
_LINES = "the line must be HOST USER:TOKEN, or ssh://HOST FILE, or [TENANT]"
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")


def basic(credential: str) -> str:
    """The header `Authorization` for a credential `USER:TOKEN`."""
    return f"Basic {base64.b64encode(credential.encode()).decode()}"


@dataclass(frozen=True, slots=True)
class Granted:
    """A credential that a tenant may use."""

    owner: str
    """The tenant that the operator wrote the credential for, or `EVERY`."""
    credential: str = field(repr=False)
    """`USER:TOKEN`, or the path of a file with a key of ssh."""


@dataclass(frozen=True, slots=True)
class HostCredentials:
    """The credentials by tenant (or `EVERY`) and then by host."""

    by_owner: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    def of(self, tenant: str) -> Mapping[str, Granted]:
        """The credentials of a tenant by host. Its own replace the credentials for every tenant."""
        return {
            host: Granted(owner, credential)
            for owner in (EVERY, tenant)
            for host, credential in self.by_owner.get(owner, {}).items()
        }

    def have(self, host: str) -> bool:
        """Whether any tenant has a credential of this host."""
        return any(host in credentials for credentials in self.by_owner.values())


def credentials(file: Path, setting: str) -> HostCredentials:
    """Parse the operator's file: lines `HOST USER:TOKEN`, or `ssh://HOST FILE` with a key.

    A line `[TENANT]` begins the credentials of that tenant, and `[*]` begins credentials for all
    tenants; lines before the first section are for the tenant `default`. Other lines are empty, or
    begin with `#`. Raises RepositoriesUnfit, which names the setting."""
    by_owner: dict[str, dict[str, str]] = {}
    owner = OPERATOR
    for number, line in enumerate(map(str.strip, _secret(file, setting).splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        at = f"{setting}, {file}, line {number}"
        if (section := _SECTION.fullmatch(line)) is not None:
            owner = _owner(section[1], at)
            continue
        host, credential = (*line.split(None, 1), "")[:2]
        host = _host(host.lower(), at)
        if host.startswith(SSH):
            _check_key(credential, at)
        elif ":" not in credential:
            raise RepositoriesUnfit(f"{at}: {_LINES}")
        if host in by_owner.setdefault(owner, {}):
            raise RepositoriesUnfit(f"{at}: the tenant {owner} has a line for {host} already")
        by_owner[owner][host] = credential
    return HostCredentials(by_owner)


def _owner(name: str, at: str) -> str:
    if name != EVERY and re.fullmatch(TENANT, name) is None:
        raise RepositoriesUnfit(
            f"{at}: a tenant's name has 1 to 63 of a-z, 0-9, _ and -, and [*] is for every tenant"
        )
    return name


def _host(name: str, at: str) -> str:
    """Check the name of a host: a line with a name that no site can have would have no effect."""
    host = name.removeprefix(SSH)
    try:
        parse_repository_hosts((name,))
    except AddressError:
        raise RepositoriesUnfit(f"{at}: {_LINES}") from None
    if "://" in host or "*" in host:
        raise RepositoriesUnfit(f"{at}: a host is named in full, and without http:// or https://")
    return name


def known_hosts(file: Path, setting: str) -> Path:
    """The checked path of ssh's list of known hosts. Raises RepositoriesUnfit."""
    file = file.absolute()
    _text(file, setting)
    if not _FILE.fullmatch(str(file)):
        raise RepositoriesUnfit(f"{setting}: {_UNFIT}")
    return file


def _check_key(file: str, at: str) -> None:
    if not _FILE.fullmatch(file):
        raise RepositoriesUnfit(f"{at}: {_UNFIT}")
    if not _KEY.match(_secret(Path(file), at)):
        raise RepositoriesUnfit(f"{at}: {file} has no private key")


def _secret(file: Path, setting: str) -> str:
    """The text of a file that other users of the machine cannot read."""
    text = _text(file, setting)
    if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise RepositoriesUnfit(
            f"{setting}, {file}, can be read by other users of this machine: chmod 600 {file}"
        )
    return text


def _text(file: Path, setting: str) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RepositoriesUnfit(f"{setting} cannot be read: {error}") from None
