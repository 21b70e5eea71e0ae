"""Allowed: an operator's list of packages, as a requirements file. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

_HASH = re.compile(r"\s--hash[= ](\S+)")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}$")


class ListUnfit(Exception):
    """The operator's list cannot be read. Its text says where."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What may be installed of a package; `hashes` are those of its files, none for any file."""

    specifier: SpecifierSet
    hashes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Allowed:
    """`lines` by normalized name. `pinned`: each has hashes, and nothing else is installed."""

    lines: Mapping[str, tuple[tuple[Requirement, frozenset[str]], ...]]
    pinned: bool

    def rules(self, markers: Mapping[str, str]) -> dict[str, Rule]:
        """What is on the list where these markers hold, by normalized name."""
        found: dict[str, Rule] = {}
        for name, lines in self.lines.items():
            for line, hashes in lines:
                if line.marker is None or line.marker.evaluate(dict(markers)):
                    rule = found.get(name, Rule(SpecifierSet()))
                    found[name] = Rule(rule.specifier & line.specifier, rule.hashes | hashes)
        return found


def read(text: str) -> Allowed:
    """The list in `text`. Raises ListUnfit, also for an unknown option."""
    lines: dict[str, tuple[tuple[Requirement, frozenset[str]], ...]] = {}
    for line in _logical(text):
        hashes = frozenset(_HASH.findall(f" {line}"))
        requirement = _requirement(_HASH.sub("", line).strip())
        if wrong := [each for each in hashes if not _SHA256.match(each)]:
            raise ListUnfit(f"only sha256 hashes are known: {wrong[0]!r}")
        name = canonicalize_name(requirement.name)
        own = frozenset(each.partition(":")[2] for each in hashes)
        lines[name] = (*lines.get(name, ()), (requirement, own))
    with_hashes = [bool(hashes) for each in lines.values() for _, hashes in each]
    if any(with_hashes) and not all(with_hashes):
        raise ListUnfit("either every package has hashes, or none")
    return Allowed(lines, pinned=any(with_hashes))


def _logical(text: str) -> Iterator[str]:
    """The lines, those that go on (a backslash at the end) put together, without comments."""
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        if bare := re.sub(r"(^|\s)#.*$", "", line).strip():
            yield bare


def _requirement(line: str) -> Requirement:
    try:
        requirement = Requirement(line)
    except InvalidRequirement as error:
        raise ListUnfit(f"not a package with its versions: {line!r}: {error}") from None
    if requirement.url:
        raise ListUnfit(f"a package comes from the index, not from an address: {line!r}")
    try:
        if requirement.marker is not None:
            requirement.marker.evaluate()
    except (ValueError, LookupError) as error:  # as packaging's own errors of markers are
        raise ListUnfit(
            f"{line[:200]!r} is under a condition that means nothing: {error}"
        ) from None
    return requirement
