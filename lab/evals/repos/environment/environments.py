"""A task's environment: its pinned packages, its project, and the further packages that the project
requires."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.evals.repos.environment import packages, project, sources
from lab.evals.repos.environment.backends import BUILD, ROOT, BuildBackend, SourceTree
from lab.evals.repos.environment.packages import NoPackages, NoWheel, Target
from lab.evals.repos.environment.project import Installed
from lab.evals.repos.pytest_run import Tree
from sandbox.protocol import Sandbox

MOST_BUILT = 20
"""The number of packages of one task that may be built."""


class OnceForArguments:
    """Calls a function only once for the same arguments."""

    def __init__(self) -> None:
        self._results: dict[tuple[Any, ...], asyncio.Future[Any]] = {}

    async def __call__(self, make: Callable[..., Awaitable[Any]], *about: Any) -> Any:
        """The result of `make`."""
        key = (make.__name__, *about)
        if key not in self._results:
            self._results[key] = asyncio.ensure_future(make(*about))
        return await asyncio.shield(self._results[key])


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of a task. `layer` has the packages (None: no packages). `backend` built the
    project, and is set only if the build left compiled modules."""

    layer: str | None
    installed: Installed
    tags: Mapping[str, bytes] = field(default_factory=dict)
    backend: BuildBackend | None = None


def over(base: str, of: Environment) -> Tree:
    """The tree of a task's base with its environment: pinned packages come after the project, and
    before the sandbox's own packages.
    """
    sites = [f"{ROOT}/{project.FOLDER}"] + ([f"{ROOT}/{packages.FOLDER}"] if of.layer else [])
    return Tree(
        layers=(*([of.layer] if of.layer else []), base),
        files={**of.installed.files, **of.tags, project.EXCLUDE: b".fettle/\n"},
        paths=(*of.installed.roots, *sites),
        sites=tuple(sites),
    )


@dataclass(frozen=True, slots=True)
class Environments:
    """Makes environments. Layers have names in the folder `layers`; `wheels` has the built
    packages.
    """

    sandbox: Sandbox
    layers: Path
    wheels: Path
    turns: asyncio.Semaphore
    once: OnceForArguments = field(default_factory=OnceForArguments)

    async def of(self, setup: tuple[str, ...], base: Any, tags: Mapping[str, bytes]) -> Environment:
        """The environment over the files of a base, for which git has these tags in addition.
        Raises NoPackages, SandboxUnavailable.
        """
        pinned, extras = packages.requirements(setup)
        layer = await self.once(self._packages, tuple(pinned), packages.FOLDER)
        declared = project.declared(await base.read("pyproject.toml"), base.entries.keys())
        if isinstance(declared, Installed):
            environment = Environment(layer, declared, tags)
        else:
            environment = await self.build_project(
                Environment(layer, Installed(), tags, declared), base, {}
            )
        return await self._with_required_packages(environment, pinned, extras)

    async def build_project(
        self,
        at: Environment,
        base: Any,
        files: Mapping[str, bytes],
        removed: frozenset[str] = frozenset(),
    ) -> Environment:
        """The project built by its backend, with these files over its base."""
        assert at.backend is not None
        layers = tuple(filter(None, (at.layer, base.layer)))
        source_tree = SourceTree(layers, {**at.tags, **files}, removed)
        notes: list[str] = []

        async def requires(requirements: tuple[str, ...]) -> str | None:
            try:
                layer: str | None = await self.once(self._packages, requirements, BUILD)
            except NoPackages as error:  # the sandbox may have it already
                notes.append(f"the project could not be built: {error}")
                return None
            return layer

        async with self.turns:
            installed = await project.build_project(
                self.sandbox, at.backend, source_tree, base.entries, requires
            )
        if installed.note and notes:
            installed = replace(installed, note=notes[0])
        compiled = any(path.endswith(".so") for path in installed.files)
        return replace(at, installed=installed, backend=at.backend if compiled else None)

    async def _with_required_packages(
        self, environment: Environment, pinned: list[str], extras: list[str]
    ) -> Environment:
        """Add the packages that the project requires and that `setup` does not pin."""
        installed_names = packages.names(self.layers, environment.layer)
        markers = (await self.once(self._target)).markers
        more = project.missing_requirements(environment.installed, extras, installed_names, markers)
        if not more:
            return environment
        try:
            layer = await self.once(self._packages, (*pinned, *more), packages.FOLDER)
        except NoPackages as error:
            note = f"what the project requires could not be installed: {error}"
            notes = "; ".join(filter(None, (environment.installed.note, note)))
            return replace(environment, installed=replace(environment.installed, note=notes))
        return replace(environment, layer=layer)

    async def _packages(self, requirements: tuple[str, ...], folder: str) -> str | None:
        """The layer with these packages. Packages without a wheel are built."""
        if not requirements:
            return None
        tried: set[str] = set()
        while True:
            try:
                return await self._wheels_alone(requirements, folder)
            except NoWheel as missing:
                if missing.requirement in tried or len(tried) == MOST_BUILT:
                    raise
                tried.add(missing.requirement)
                await self.once(self._wheel, missing.requirement)

    async def _wheels_alone(self, requirements: tuple[str, ...], folder: str) -> str | None:
        of = await self.once(self._target)
        return await packages.layer(self.layers, requirements, of, self.wheels, folder=folder)

    async def _wheel(self, requirement: str) -> None:
        python = (await self.once(self._target)).version

        async def requires(requirements: tuple[str, ...]) -> str | None:
            return await self._wheels_alone(requirements, BUILD)

        await sources.wheel(self.sandbox, requirement, python, self.wheels, requires)

    async def _target(self) -> Target:
        return await packages.target(self.sandbox)
