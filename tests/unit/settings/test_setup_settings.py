"""The operator's settings for the sources of dependencies."""

from __future__ import annotations

import httpx
import pytest
from pydantic import ValidationError

from agents.errors import ToolRefused
from settings.repositories import RepositorySettings
from worker.egress.hosts import HostList


def sources(**settings: object) -> tuple[str, ...]:
    return RepositorySettings.model_validate(settings).setup_sources


def reached(hosts: HostList, *urls: str) -> list[bool]:
    def is_accepted(url: str) -> bool:
        try:
            hosts.require(httpx.URL(url))
        except ToolRefused:
            return False
        return True

    return [is_accepted(url) for url in urls]


def test_no_package_is_installed_unless_a_host_is_named() -> None:
    assert sources() == sources(setup_index="", setup_npm_registry="") == ()


def test_the_hosts_of_indexes_are_on_the_list() -> None:
    source_hosts = sources(
        setup_hosts=["pypi.org"],
        setup_index="https://Packages.example.org:443/simple/",
        setup_npm_registry="http://npm.internal:4873/",
    )
    assert source_hosts == ("pypi.org", "packages.example.org", "http://npm.internal:4873")
    urls = ("https://pypi.org/", "https://packages.example.org/a", "http://npm.internal:4873/")
    assert reached(HostList(source_hosts), *urls) == [True, True, True]
    other_indexes = ("http://pypi.org/", "https://npm.internal:4873/", "https://evil.example/")
    assert reached(HostList(source_hosts), *other_indexes) == [False, False, False]


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (
            "https://me:secret@packages.example.org/simple/",
            "leave out the user name and the password",
        ),
        ("ftp://packages.example.org/", "begins with https://"),
        ("packages.example.org", "begins with https://"),
    ],
)
def test_an_invalid_index_is_refused_at_the_start(index: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        sources(setup_index=index)
