"""Hosts that repositories may come from, with their credentials, by the operator's list."""

from __future__ import annotations

import base64
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from agents.errors import ToolRefused
from settings.repositories import RepositorySettings
from worker.egress.hosts import Hosts, authority, parsed
from worker.repositories.errors import RepositoriesUnfit, RepositoryRefused

_PLAIN = "http://"
_UPLOAD = "upload the repository instead: fettle run --repo DIR"


@dataclass(frozen=True, slots=True)
class Site:
    """One address that may be fetched from. `hosts` is its own host and port alone; `private`
    allows an intranet's addresses; `header` carries the operator's credential, and `token` is its
    second part."""

    url: str
    hosts: Hosts
    private: bool
    header: str | None = field(repr=False)
    token: str | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """Its host, and port where it is not the scheme's own."""
        (place,) = self.hosts.names
        return place


@dataclass(frozen=True, slots=True)
class RepositoryHosts:
    """`credentials` are `USER:TOKEN` by host, and port where it is not the scheme's own."""

    names: tuple[str, ...]
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def over(cls, settings: RepositorySettings) -> RepositoryHosts:
        """Raises RepositoriesUnfit where the file of credentials cannot be used."""
        file = settings.repo_credentials
        return cls(
            settings.repo_hosts,
            {} if file is None else credentials(file, "FETTLE_REPO_CREDENTIALS"),
        )

    def site(self, address: str) -> Site:
        """The site of this address. Raises RepositoryRefused."""
        if not self.names:
            raise RepositoryRefused(
                f"workers of this deployment fetch no repositories (FETTLE_REPO_HOSTS); {_UPLOAD}"
            )
        url = _url(address)
        plain = url.scheme == "http"
        for name in self.names:
            if name.startswith(_PLAIN) == plain and _fits(name.removeprefix(_PLAIN), url):
                place = authority(url)
                credential = self.credentials.get(place)
                return Site(
                    str(url),
                    Hosts((place,), http=plain),
                    private=not name.removeprefix(_PLAIN).startswith("*."),
                    header=None if credential is None else f"Authorization: {basic(credential)}",
                    token=None if credential is None else credential.partition(":")[2],
                )
        raise RepositoryRefused(
            f"{url.scheme}://{authority(url)} is not on the operator's list of hosts for "
            f"repositories (FETTLE_REPO_HOSTS): {', '.join(self.names)}"
        )


def _url(address: str) -> httpx.URL:
    if not address.startswith(("https://", _PLAIN)):
        raise RepositoryRefused(
            "a repository's address begins with https://; ssh, file and other transports are not"
            f" fetched; {_UPLOAD}"
        )
    try:
        url = parsed(address)
    except ToolRefused as error:
        raise RepositoryRefused(f"the repository's address will not do: {error}") from None
    if url.userinfo:
        raise RepositoryRefused(
            "a repository's address has no user name and no password: the operator sets them for "
            "each host (FETTLE_REPO_CREDENTIALS)"
        )
    if url.query:
        raise RepositoryRefused("a repository's address has no query (what follows a '?')")
    return url.copy_with(path=url.path.rstrip("/") or "/")


def _fits(name: str, url: httpx.URL) -> bool:
    try:
        Hosts((name,), http=True).require(url)
    except ToolRefused:
        return False
    return True


def basic(credential: str) -> str:
    """A `USER:TOKEN` as the value of the header `Authorization`."""
    return f"Basic {base64.b64encode(credential.encode()).decode()}"


def credentials(file: Path, setting: str) -> dict[str, str]:
    """`USER:TOKEN` by host, of lines `HOST USER:TOKEN`; others are empty, or begin with `#`. Raises
    RepositoriesUnfit, which names the setting."""
    try:
        mode = file.stat().st_mode
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RepositoriesUnfit(f"{setting} cannot be read: {error}") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise RepositoriesUnfit(
            f"{setting}, {file}, can be read by other users of this machine: chmod 600 {file}"
        )
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        host, _, credential = line.strip().partition(" ")
        if ":" not in credential.strip():
            raise RepositoriesUnfit(
                f"{setting}, {file}, line {number}: it has to be HOST USER:TOKEN"
            )
        found[host.lower()] = credential.strip()
    return found
