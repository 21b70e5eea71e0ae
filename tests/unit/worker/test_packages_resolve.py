"""What is to be installed, from an index that the test writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from package_index import wheel
from packaging.requirements import Requirement

from agents.errors import ToolRefused
from agents.outside import Target
from worker.packages.allowed import read
from worker.packages.index import Link
from worker.packages.resolve import Resolution

MARKERS = {"python_version": "3.11", "python_full_version": "3.11.7", "platform_machine": "x86_64"}


@dataclass(frozen=True)
class Index:
    """Implements `resolve.Source`: what each `name-version` needs."""

    packages: Mapping[str, Sequence[str]]

    async def links(self, name: str) -> list[Link]:
        own = (each for each in self.packages if each.rpartition("-")[0] == name)
        return [Link(f"{each}-py3-none-any.whl", each) for each in own]

    async def content(self, link: Link) -> bytes:
        name, _, version = link.url.rpartition("-")
        return wheel(name, version, {}, self.packages[link.url])


async def installed(packages: Mapping[str, Sequence[str]], *asked: str) -> list[str]:
    target = Target(("py3-none-any",), MARKERS)
    search = Resolution(Index(packages), read("app\nfoo\nbar\n"), target, False, 1_000_000)
    found = await search.wheels([Requirement(each) for each in asked])
    return [each.filename.removesuffix("-py3-none-any.whl") for each in found]


async def test_a_condition_that_means_nothing_is_refused() -> None:
    for need in ("foo; platform_machine ~= 'x'", "foo; 'a' in dependency_groups"):
        with pytest.raises(ToolRefused, match="under a condition that means nothing"):
            await installed({"app-1": [need], "foo-1": []}, "app")


async def test_what_is_needed_twice_is_needed_in_both_ways() -> None:
    versions: dict[str, list[str]] = {f"foo-{n}": [] for n in ("1.0", "1.5", "3.0")}
    for needed in (["foo<2", "foo!=1.5"], ["foo!=1.5", "foo<2"]):
        assert await installed({"app-1": needed, **versions}, "app") == ["app-1", "foo-1.0"]
        assert await installed(versions, *needed) == ["foo-1.0"]
    with pytest.raises(ToolRefused, match=r"foo<2 \(you\), foo>2 \(you\)"):
        await installed(versions, "foo<2", "foo>2")


async def test_what_a_version_needed_that_is_given_up_is_not_needed() -> None:
    packages = {
        "app-1": ["foo", "bar"],
        "foo-2": ["bar<1", "bar!=0.5"],
        "foo-1": ["bar>=1"],
        "bar-0.1": ["foo<2"],
        "bar-1": [],
    }
    assert await installed(packages, "app") == ["app-1", "bar-1", "foo-1"]
