"""IndexPackages: the port Packages over an operator's index."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
from packaging.requirements import InvalidRequirement, Requirement

from agents.errors import ToolRefused
from agents.outside import Target, Wheel
from sandbox.protocol import MIB
from settings.tools import ToolSettings
from worker.packages.allowed import Allowed, read
from worker.packages.index import ACCEPT, Index
from worker.packages.resolve import Resolution
from worker.reach.hosts import Hosts, authority
from worker.reach.reach import Reach

PAGE_BYTES = 32 * MIB
"""The list of a package's files; of the largest ones it has some MB."""


@dataclass(frozen=True, slots=True)
class IndexPackages:
    """Implements the port Packages."""

    index: Index
    allowed: Allowed
    any_dependency: bool
    most_bytes: int
    seconds: float

    @classmethod
    def over(cls, settings: ToolSettings) -> IndexPackages | None:
        """None where the operator allows no packages. Raises ListUnfit, and OSError for a list that
        cannot be read."""
        if settings.install_list is None or settings.install_index is None:
            return None
        return cls(
            index=_index(settings, settings.install_index.get_secret_value()),
            allowed=read(Path(settings.install_list).read_text()),
            any_dependency=settings.install_dependencies,
            most_bytes=settings.install_bytes,
            seconds=settings.install_seconds,
        )

    async def wheels(self, wanted: Sequence[str], target: Target) -> Sequence[Wheel]:
        """See `agents.outside.Packages`."""
        asked = [_requirement(each) for each in wanted]
        search = Resolution(self.index, self.allowed, target, self.any_dependency, self.most_bytes)
        try:
            async with asyncio.timeout(self.seconds):
                return await search.wheels(asked)
        except TimeoutError:
            raise ToolRefused(f"the index took longer than {self.seconds:g} s") from None


def _index(settings: ToolSettings, address: str) -> Index:
    """The index reaches its own host, and those that its files lie on, and no others: its address
    is the operator's, so it may be private, and unencrypted where he says so."""
    url = httpx.URL(address if address.endswith("/") else f"{address}/")
    bare = url.copy_with(username="", password="")
    own = authority(bare)
    told = {}
    if url.userinfo:
        secret = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
        told = {own: {"Authorization": f"Basic {secret}"}}
    hosts = Hosts((own, *settings.install_hosts), http=bare.scheme == "http")

    def reach(most_bytes: int, accept: str) -> Reach:
        return Reach(
            hosts,
            most_bytes,
            settings.install_seconds,
            private=True,
            accept=accept,
            headers=told,
        )

    return Index(str(bare), reach(PAGE_BYTES, ACCEPT), reach(settings.install_bytes, "*/*"))


def _requirement(text: str) -> Requirement:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ToolRefused(f"this is no package with its versions: {text!r}: {error}") from None
    if requirement.url or requirement.marker:
        raise ToolRefused(f"a package comes from the index, under its name: {text!r}")
    return requirement
