"""Finding what is to be installed: what is wanted, and what that needs.

Each package in its newest version that all who need it agree with, one after the other, and chosen
anew where a later one objects. It does not go back to older versions of those who object: where
that would be needed it says who wants what, and the operator's list (or the model) names a version.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from agents.errors import ToolRefused
from agents.outside import Target, Wheel
from worker.packages.allowed import Allowed, Rule
from worker.packages.choose import Candidate, best, candidates
from worker.packages.index import Link
from worker.packages.marker import holds
from worker.packages.wheel import needs

MOST_NEEDS = 2_000
NAMES_SHOWN = 40
ASKED = "you"
LISTED = "the operator's list"


class Source(Protocol):
    """Where files come from; `index.Index` is one."""

    async def links(self, name: str) -> list[Link]: ...
    async def content(self, link: Link) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """A package that is to be installed, and the extras of it that are wanted."""

    candidate: Candidate
    wheel: Wheel
    needed: tuple[Requirement, ...]
    extras: frozenset[str]

    def needs(self, target: Target) -> Iterator[Requirement]:
        """What it needs on this interpreter."""
        for each in self.needed:
            places = [{**target.markers, "extra": extra} for extra in self.extras or {""}]
            if any(holds(each, place) for place in places):
                yield each


@dataclass(slots=True)
class Resolution:
    """One call's search. `any_dependency`: what is needed need not be on the list."""

    source: Source
    allowed: Allowed
    target: Target
    any_dependency: bool
    most_bytes: int
    chosen: dict[str, Chosen] = field(default_factory=dict)
    wanted: dict[str, dict[str, list[Requirement]]] = field(default_factory=dict)
    _known: dict[str, list[Link]] = field(default_factory=dict)
    _got: dict[str, bytes] = field(default_factory=dict)

    async def wheels(self, asked: Sequence[Requirement]) -> list[Wheel]:
        """All wheels, by name. Raises ToolRefused."""
        left = deque((ASKED, each) for each in asked)
        for _ in range(MOST_NEEDS):
            if not left:
                return self._kept(asked)
            by, requirement = left.popleft()
            name = canonicalize_name(requirement.name)
            self.wanted.setdefault(name, {}).setdefault(by, []).append(requirement)
            if self._is_there(name, by) or self._is_chosen(name):
                continue
            for each in self.wanted.values():
                each.pop(name, None)  # what a version needed that is given up
            self.chosen[name] = await self._choose(name, by)
            left.extend((name, each) for each in self.chosen[name].needs(self.target))
        raise ToolRefused("that needs too many packages")

    def _is_there(self, name: str, by: str) -> bool:
        """Whether the interpreter has it already. What it has is not replaced."""
        version = self.target.there.get(name)
        if version is None:
            return False
        if not self._specifier(name).contains(version, prereleases=True):
            raise ToolRefused(
                f"{name} {version} is there already, and {by} needs {self._who(name)}"
            )
        return True

    def _is_chosen(self, name: str) -> bool:
        chosen = self.chosen.get(name)
        if chosen is None or not self._extras(name) <= chosen.extras:
            return False
        return self._specifier(name).contains(chosen.candidate.version, prereleases=True)

    async def _choose(self, name: str, by: str) -> Chosen:
        rule = self._rule(name, by)
        if name not in self._known:
            self._known[name] = await self.source.links(name)
        fitting = candidates(self._known[name], name, self.target, rule.hashes)
        found = best(fitting, self._specifier(name) & rule.specifier)
        if found is None:
            raise ToolRefused(self._none(name, rule, fitting))
        content = await self._content(found.link)
        digest = hashlib.sha256(content).hexdigest()
        if rule.hashes and digest not in rule.hashes:
            raise ToolRefused(f"{found.link.filename} is not the file on {LISTED}: sha256 {digest}")
        wheel = Wheel(found.link.filename, content, digest)
        return Chosen(found, wheel, needs(content, wheel.filename, name), self._extras(name))

    async def _content(self, link: Link) -> bytes:
        if link.url not in self._got:
            self._got[link.url] = await self.source.content(link)
            if sum(map(len, self._got.values())) > self.most_bytes:
                raise ToolRefused(f"that is more than {self.most_bytes} bytes of packages")
        return self._got[link.url]

    def _rule(self, name: str, by: str) -> Rule:
        rule = self.allowed.rule(name, self.target.markers)
        if rule is not None:
            return rule
        if by != ASKED and self.any_dependency and not self.allowed.pinned:
            return Rule(SpecifierSet())
        if by != ASKED:
            raise ToolRefused(f"{name}, which {by} needs, is not on {LISTED}")
        names = sorted(self.allowed.lines)
        more = ", ..." if len(names) > NAMES_SHOWN else ""
        raise ToolRefused(f"{name} is not on {LISTED}: {', '.join(names[:NAMES_SHOWN])}{more}")

    def _specifier(self, name: str) -> SpecifierSet:
        specifier = SpecifierSet()
        for _, each in self._wants(name):
            specifier &= each.specifier
        return specifier

    def _extras(self, name: str) -> frozenset[str]:
        return frozenset().union(*(each.extras for _, each in self._wants(name)))

    def _who(self, name: str) -> str:
        return ", ".join(f"{each.name}{each.specifier} ({by})" for by, each in self._wants(name))

    def _wants(self, name: str) -> Iterator[tuple[str, Requirement]]:
        """Who wants it, and how: one may name it several times."""
        return ((by, each) for by, all_of in self.wanted[name].items() for each in all_of)

    def _none(self, name: str, rule: Rule, fitting: Sequence[Candidate]) -> str:
        wanted = self._who(name) + (f", {rule.specifier} ({LISTED})" if rule.specifier else "")
        if not self._known[name]:
            return f"the index has no package {name}"
        if not fitting:
            return f"there is no wheel of {name} for this Python, and nothing is built: {wanted}"
        versions = sorted({each.version for each in fitting})[-8:]
        return f"no version of {name} fits: {wanted}; there are {', '.join(map(str, versions))}"

    def _kept(self, asked: Sequence[Requirement]) -> list[Wheel]:
        """What is still needed in the end."""
        kept: dict[str, Chosen] = {}
        left = [canonicalize_name(each.name) for each in asked]
        while left:
            name = left.pop()
            if name in self.chosen and name not in kept:
                kept[name] = self.chosen[name]
                left += [canonicalize_name(e.name) for e in kept[name].needs(self.target)]
        return [each.wheel for _, each in sorted(kept.items())]
