"""A task's environment: its pinned packages, its project, and what that requires beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.evals.repos.environment import packages, project, sources
from lab.evals.repos.environment.backends import BUILD, ROOT, Backend, Place
from lab.evals.repos.environment.packages import NoPackages, NoWheel, Target
from lab.evals.repos.environment.project import Installed
from lab.evals.repos.pytest_run import Tree
from sandbox.protocol import Sandbox

MOST_BUILT = 20
"""Packages of one task that are built."""


class Once:
    """Calls what makes something once for the same arguments."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], asyncio.Future[Any]] = {}

    async def __call__(self, make: Callable[..., Awaitable[Any]], *about: Any) -> Any:
        """What `make` returns."""
        key = (make.__name__, *about)
        if key not in self._made:
            self._made[key] = asyncio.ensure_future(make(*about))
        return await asyncio.shield(self._made[key])


@dataclass(frozen=True, slots=True)
class Environment:
    """`layer` has the packages, None where there are none. `backend` is what has built the project
    where that left compiled modules."""

    layer: str | None
    installed: Installed
    tags: Mapping[str, bytes] = field(default_factory=dict)
    backend: Backend | None = None


def over(base: str, of: Environment) -> Tree:
    """The tree of a task's base with its environment: pinned packages come after the project, and
    before all that the sandbox has itself."""
    sites = [f"{ROOT}/{project.FOLDER}"] + ([f"{ROOT}/{packages.FOLDER}"] if of.layer else [])
    return Tree(
        layers=(*([of.layer] if of.layer else []), base),
        files={**of.installed.files, **of.tags, project.EXCLUDE: b".fettle/\n"},
        paths=(*of.installed.roots, *sites),
        sites=tuple(sites),
    )


@dataclass(frozen=True, slots=True)
class Environments:
    """Makes environments. Layers are named in the folder `layers`; `wheels` has what was built."""

    sandbox: Sandbox
    layers: Path
    wheels: Path
    turns: asyncio.Semaphore
    once: Once = field(default_factory=Once)

    async def of(self, setup: tuple[str, ...], base: Any, tags: Mapping[str, bytes]) -> Environment:
        """The environment over the files of a base; git has these tags besides. Raises NoPackages,
        SandboxUnavailable."""
        wanted, extras = packages.requirements(setup)
        layer = await self.once(self._packages, tuple(wanted), packages.FOLDER)
        found = project.declared(await base.read("pyproject.toml"), base.entries.keys())
        if isinstance(found, Installed):
            made = Environment(layer, found, tags)
        else:
            made = await self.built(Environment(layer, Installed(), tags, found), base, {})
        return await self._whole(made, wanted, extras)

    async def built(
        self,
        at: Environment,
        base: Any,
        files: Mapping[str, bytes],
        removed: frozenset[str] = frozenset(),
    ) -> Environment:
        """The project built by its backend, with these files over its base."""
        assert at.backend is not None
        layers = tuple(filter(None, (at.layer, base.layer)))
        place = Place(layers, {**at.tags, **files}, removed)
        notes: list[str] = []

        async def requires(wanted: tuple[str, ...]) -> str | None:
            try:
                found: str | None = await self.once(self._packages, wanted, BUILD)
            except NoPackages as error:  # the sandbox may have it
                notes.append(f"the project could not be built: {error}")
                return None
            return found

        async with self.turns:
            made = await project.built(self.sandbox, at.backend, place, base.entries, requires)
        if made.note and notes:
            made = replace(made, note=notes[0])
        compiled = any(path.endswith(".so") for path in made.files)
        return replace(at, installed=made, backend=at.backend if compiled else None)

    async def _whole(self, made: Environment, wanted: list[str], extras: list[str]) -> Environment:
        """With the packages that the project requires, and that `setup` does not pin."""
        there = packages.names(self.layers, made.layer)
        markers = (await self.once(self._target)).markers
        more = project.lacking(made.installed, extras, there, markers)
        if not more:
            return made
        try:
            layer = await self.once(self._packages, (*wanted, *more), packages.FOLDER)
        except NoPackages as error:
            note = f"what the project requires could not be installed: {error}"
            notes = "; ".join(filter(None, (made.installed.note, note)))
            return replace(made, installed=replace(made.installed, note=notes))
        return replace(made, layer=layer)

    async def _packages(self, wanted: tuple[str, ...], folder: str) -> str | None:
        """The layer with these packages. Those without a wheel are built."""
        if not wanted:
            return None
        tried: set[str] = set()
        while True:
            try:
                return await self._wheels_alone(wanted, folder)
            except NoWheel as missing:
                if missing.requirement in tried or len(tried) == MOST_BUILT:
                    raise
                tried.add(missing.requirement)
                await self.once(self._wheel, missing.requirement)

    async def _wheels_alone(self, wanted: tuple[str, ...], folder: str) -> str | None:
        of = await self.once(self._target)
        return await packages.layer(self.layers, wanted, of, self.wheels, folder=folder)

    async def _wheel(self, requirement: str) -> None:
        python = (await self.once(self._target)).version

        async def requires(wanted: tuple[str, ...]) -> str | None:
            return await self._wheels_alone(wanted, BUILD)

        await sources.wheel(self.sandbox, requirement, python, self.wheels, requires)

    async def _target(self) -> Target:
        return await packages.target(self.sandbox)
