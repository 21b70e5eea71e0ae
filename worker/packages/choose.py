"""Choosing a package's file. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import BuildTag, InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from agents.outside import Target
from worker.packages.index import Link


@dataclass(frozen=True, slots=True)
class Candidate:
    """A wheel that the interpreter can use; `rank` 0 is the best fit."""

    link: Link
    version: Version
    build: BuildTag
    rank: int


def candidates(
    links: Iterable[Link], name: str, target: Target, hashes: Collection[str]
) -> list[Candidate]:
    """The wheels of the package that fit the interpreter and, where there are any, the hashes."""
    ranks = {tag: rank for rank, tag in enumerate(target.tags)}
    found = []
    for link in links:
        try:
            own, version, build, tags = parse_wheel_filename(link.filename)
        except InvalidWheelFilename:
            continue
        fitting = [ranks[str(tag)] for tag in tags if str(tag) in ranks]
        wanted = not hashes or link.sha256 is None or link.sha256 in hashes
        if fitting and wanted and canonicalize_name(own) == name and _python(link, target):
            found.append(Candidate(link, version, build, min(fitting)))
    return found


def best(found: Iterable[Candidate], specifier: SpecifierSet) -> Candidate | None:
    """The newest version, and of its files the one that fits best. A version that was taken back
    is used only where it is named exactly (PEP 592); one before a release, where there is no other.
    """
    exact = {each.version for each in specifier if each.operator in {"==", "==="}}
    usable = [each for each in found if not each.link.yanked or str(each.version) in exact]
    versions = list(specifier.filter({each.version for each in usable}))
    of_newest = [each for each in usable if versions and each.version == max(versions)]
    return min(of_newest, key=lambda each: (each.rank, _age(each.build)), default=None)


def _age(build: BuildTag) -> int:
    """The later build of a version comes first."""
    return -build[0] if build else 0


def _python(link: Link, target: Target) -> bool:
    if not link.requires_python:
        return True
    try:
        return SpecifierSet(link.requires_python).contains(target.markers["python_full_version"])
    except InvalidSpecifier:
        return True
