"""Hosts that repositories may come from, with their credentials, by the operator's list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx

from agents.errors import ToolRefused
from jobs.model.credentials import OPERATOR
from settings.repositories import RepositorySettings
from worker.egress.hosts import HostList, authority, is_full_name, matches, parse_url
from worker.repositories import ssh
from worker.repositories.credentials import SSH, HostCredentials, basic, credentials, known_hosts
from worker.repositories.errors import RepositoryRefused

_SCHEMES = ("https://", "http://", SSH)
_SSH_USER = re.compile(rb"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SSH_HOST = re.compile(rb"[a-z0-9][a-z0-9._-]*|[0-9a-f:]+")
"""Names that ssh cannot read as an option."""
UPLOAD = "upload the repository instead: fettle run --repo DIR"


@dataclass(frozen=True, slots=True)
class Site:
    """A repository's address that a worker may fetch from."""

    url: str
    hosts: HostList
    """Only the host and port of the address."""
    private: bool
    """Whether addresses of an intranet are allowed."""
    web: str
    """The address of the forge's API and pages."""
    header: str | None = field(default=None, repr=False)
    """The header with the tenant's credential, for https."""
    token: str | None = field(default=None, repr=False)
    """The token in the tenant's credential."""
    login: ssh.Login | None = None
    """The login for ssh; None for other schemes."""
    owner: str = ""
    """The tenant of the credential for fetching; '*': all tenants, '': no credential."""

    @property
    def host(self) -> str:
        """The host, with the port if it is not the default port of the scheme."""
        (name,) = self.hosts.names
        return name


@dataclass(frozen=True, slots=True)
class RepositoryHosts:
    """The hosts that repositories may come from, with their credentials."""

    names: tuple[str, ...]
    """The operator's list."""
    credentials: HostCredentials = field(default_factory=HostCredentials, repr=False)
    known_hosts_file: Path | None = None
    """The file of ssh's known hosts."""

    @classmethod
    def from_settings(cls, settings: RepositorySettings) -> RepositoryHosts:
        """Raises RepositoriesUnfit if a file that the settings name cannot be used."""
        file, known_hosts_file = settings.repo_credentials, settings.repo_known_hosts
        return cls(
            settings.repo_hosts,
            HostCredentials() if file is None else credentials(file, "FETTLE_REPO_CREDENTIALS"),
            None
            if known_hosts_file is None
            else known_hosts(known_hosts_file, "FETTLE_REPO_KNOWN_HOSTS"),
        )

    def site(self, address: str, tenant: str = OPERATOR) -> Site:
        """The site of this address, with the tenant's credentials. Raises RepositoryRefused."""
        if not self.names:
            raise RepositoryRefused(
                f"workers of this deployment fetch no repositories (FETTLE_REPO_HOSTS); {UPLOAD}"
            )
        url = _url(address)
        for name in self.names:
            if matches(name, url):
                return self._site(url, tenant, private=is_full_name(name))
        raise RepositoryRefused(
            f"{url.scheme}://{authority(url)} is not on the operator's list of hosts for "
            f"repositories (FETTLE_REPO_HOSTS): {', '.join(self.names)}"
        )

    def _site(self, url: httpx.URL, tenant: str, *, private: bool) -> Site:
        over_ssh, host_name = url.scheme == "ssh", authority(url)
        web = url.copy_with(scheme="https", port=None) if over_ssh else url
        grants = self.credentials.of(tenant)
        granted = grants.get(authority(web))
        site = Site(
            str(url),
            HostList((host_name,), http=url.scheme == "http"),
            private,
            f"{web.scheme}://{authority(web)}",
            token=None if granted is None else granted.credential.partition(":")[2],
        )
        if over_ssh:
            host, port = url.raw_host.decode("ascii"), url.port or ssh.PORT
            key = grants.get(f"{SSH}{host_name}")
            login = ssh.Login(host, port, key.credential if key else None, self.known_hosts_file)
            return replace(site, login=login, owner=key.owner if key else "")
        if granted is None:
            return site
        header = f"Authorization: {basic(granted.credential)}"
        return replace(site, header=header, owner=granted.owner)


def _url(address: str) -> httpx.URL:
    if not address.startswith(_SCHEMES):
        raise RepositoryRefused(
            "a repository's address begins with https:// or ssh://; file and other transports are "
            f"not fetched; {UPLOAD}"
        )
    try:
        url = parse_url(address)
    except ToolRefused as error:
        raise RepositoryRefused(f"the repository's address is invalid: {error}") from None
    if url.scheme == "ssh":
        url = _of_ssh(url)
    elif url.userinfo:
        raise RepositoryRefused(
            "a repository's address has no user name and no password: the operator sets them for "
            "each host (FETTLE_REPO_CREDENTIALS)"
        )
    if url.query:
        raise RepositoryRefused("a repository's address has no query (what follows a '?')")
    try:
        return url.copy_with(path=url.path.rstrip("/") or "/")
    except httpx.InvalidURL as error:  # an escaped control character
        raise RepositoryRefused(f"the repository's address is invalid: {error}") from None


def _of_ssh(url: httpx.URL) -> httpx.URL:
    """The URL with a user, and without the default port of ssh."""
    user = url.userinfo or b"git"
    if not _SSH_USER.fullmatch(user) or not _SSH_HOST.fullmatch(url.raw_host):
        raise RepositoryRefused(
            "the repository's address is invalid: over ssh it is ssh://USER@HOST/PATH, with a "
            "plain name of a user and a host, and no password: the operator sets a key for each "
            "host (FETTLE_REPO_CREDENTIALS)"
        )
    port = None if url.port == ssh.PORT else url.port
    return url.copy_with(username=user.decode("ascii"), password=None, port=port)


def lacks(hosts: RepositoryHosts) -> list[str]:
    """The missing requirements of ssh for hosts that the list names in full. Blocks."""
    names = [name for name in hosts.names if name.lower().startswith(SSH) and is_full_name(name)]
    if names and ssh.program() is None:
        return [f"{', '.join(names)}: {ssh.MISSING}"]
    return [f"{name}: {reason}" for name in names for reason in _lacking(hosts, name)]


def _lacking(hosts: RepositoryHosts, name: str) -> Iterator[str]:
    try:
        site = hosts.site(f"{name.lower()}/")
    except RepositoryRefused as error:  # a user, a path, or the port that is ssh's own
        yield str(error)
        return
    login = site.login
    if not hosts.credentials.have(f"{SSH}{site.host}"):
        yield "no key (FETTLE_REPO_CREDENTIALS)"
    if login is not None and not login.is_known():
        yield "no line in the file of known hosts (FETTLE_REPO_KNOWN_HOSTS)"
