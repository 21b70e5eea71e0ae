"""Settings of the repositories that jobs work on: their hosts, their sizes, and the indexes of
their dependencies.

See ADR 54 and ADR 56.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from settings.base import Names
from settings.reading.addresses import (
    none_if_empty,
    parse_hosts,
    parse_http,
    parse_repository_hosts,
)
from settings.reviews import DeliverySettings
from settings.sandbox import MIB

ForgeKind = Literal["git", "github", "gitlab"]
"""The kind of a host that changes are delivered to."""


def _name_and_mail(value: str) -> str:
    if re.fullmatch(r"[^<>\x00-\x1f]*[^<>\s] <[^<>\s]+>", value) is None:
        raise ValueError("an author is written `Name <mail>`")
    return value


def _kinds(value: tuple[str, ...]) -> tuple[str, ...]:
    for item in value:
        host, _, kind = item.partition("=")
        if not host or "/" in host or "*" in host or kind not in get_args(ForgeKind):
            kinds = ", ".join(get_args(ForgeKind))
            raise ValueError(f"a host is written HOST=KIND or HOST:PORT=KIND; kinds are {kinds}")
    hosts = tuple(item.partition("=")[0] for item in value)
    parse_hosts(hosts)
    if len({host.lower() for host in hosts}) < len(hosts):
        raise ValueError("a host is listed twice: leave one of them out")
    return value


def _index(value: str) -> str:
    if "@" in urlsplit(parse_http(value, user_info=True)).netloc:
        raise ValueError(
            "leave out the user name and the password of an index, which code could read here: put "
            "them into the file of FETTLE_SETUP_CREDENTIALS"
        )
    return value.strip()


Index = Annotated[str, AfterValidator(_index)]


class RepositorySettings(DeliverySettings):
    """Sizes in bytes, times in seconds."""

    repo_hosts: Annotated[Names, AfterValidator(parse_repository_hosts)] = Field(
        (),
        description="hosts that workers fetch repositories from, as `git.example.org`, "
        "`git.example.org:8443`, `*.example.org`, `http://git.internal:3000` (without TLS), "
        "`ssh://git.example.org`; one that is named in full may have a private address; unset: "
        "uploads only",
    )
    repo_credentials: Annotated[Path | None, BeforeValidator(none_if_empty)] = Field(
        None,
        description="file with a line `HOST USER:TOKEN` for each host that wants a credential, and "
        "`ssh://HOST FILE` for the private key of a host over ssh; a line `[TENANT]` begins the "
        "credentials of a tenant, `[*]` those of all tenants, and lines before are for the tenant "
        "`default`; it and these files are readable by the worker's user alone (mode 0600)",
    )
    repo_known_hosts: Annotated[Path | None, BeforeValidator(none_if_empty)] = Field(
        None,
        description="file of the keys of the hosts over ssh, as OpenSSH's `known_hosts`; a host "
        "that it lacks is not reached",
    )
    deliver_hosts: Annotated[Names, AfterValidator(_kinds)] = Field(
        (),
        description="hosts of `FETTLE_REPO_HOSTS` that approved changes may be pushed to, with "
        "their kinds: `github.com=github`, `git.example.org=gitlab`, "
        "`git.internal:3000=git` (branches only); their credentials have to allow it",
    )
    repo_dir: Annotated[Path | None, BeforeValidator(none_if_empty)] = Field(
        None,
        description="where a worker keeps mirrors and checked-out trees, on a disk of its own "
        "machine; unset: `repositories` in `FETTLE_DATA_DIR`",
    )
    repo_author: Annotated[str, AfterValidator(_name_and_mail)] = Field(
        "Fettle <fettle@localhost>",
        description="the author of the commits in jobs' bundles, as `Name <mail>`",
    )
    repo_bytes: int = Field(
        512 * MIB,
        gt=0,
        description="the largest repository: what is sent for one job, and its files together",
    )
    repo_files: int = Field(50_000, gt=0, description="the most files of a repository's tree")
    repo_commits: int = Field(
        1_000,
        gt=0,
        description="how many commits of history are fetched, with the tags on them; an upload "
        "has its own history",
    )
    repo_seconds: float = Field(
        300.0,
        gt=0,
        description="the longest time for fetching a repository, or for checking it out",
    )
    repo_cache_bytes: int = Field(
        10_240 * MIB,
        gt=0,
        description="bytes of mirrors and checked-out trees that a worker keeps; it removes those "
        "that no job uses, the longest unused first",
    )
    setup_hosts: Annotated[Names, AfterValidator(parse_hosts)] = Field(
        (),
        description="hosts of the package indexes that a repository's dependencies are installed "
        "from, as `pypi.org,files.pythonhosted.org`, written as in `FETTLE_REPO_HOSTS`; unset: "
        "none are installed",
    )
    setup_index: Annotated[Index | None, BeforeValidator(none_if_empty)] = Field(
        None,
        description="address of the index that pip uses there (its `/simple/`), without a "
        "password (`FETTLE_SETUP_CREDENTIALS`); its host is allowed besides; unset: pypi.org",
    )
    setup_npm_registry: Annotated[Index | None, BeforeValidator(none_if_empty)] = Field(
        None,
        description="the same for npm; unset: registry.npmjs.org",
    )
    setup_credentials: Annotated[Path | None, BeforeValidator(none_if_empty)] = Field(
        None,
        description="file in the form of `FETTLE_REPO_CREDENTIALS`, by tenant too, for the hosts "
        "of indexes that want a credential; the worker adds it to a setup's requests to them",
    )
    setup_seconds: float = Field(
        600.0, gt=0, description="the longest time for installing a repository's dependencies"
    )
    setup_bytes: int = Field(
        512 * MIB, gt=0, description="the most bytes of the files that an installation leaves"
    )

    @property
    def setup_sources(self) -> tuple[str, ...]:
        """The hosts that a setup may reach, with the hosts of its indexes; empty: no setups."""
        indexes = (self.setup_index, self.setup_npm_registry)
        return (*self.setup_hosts, *(_host(index) for index in indexes if index is not None))


def _host(index: str) -> str:
    """The host of an index in the form of lists of hosts: without the default port of the
    scheme."""
    parts = urlsplit(index)
    if parts.scheme == "http":
        return f"http://{parts.netloc.lower().removesuffix(':80')}"
    return parts.netloc.lower().removesuffix(":443")
