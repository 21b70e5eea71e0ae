"""Build backends, which run only in the sandbox, because they are code of a project or of a
package.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lab.evals.repos.pytest_run import LIMITS, one_line, source
from sandbox.protocol import Command, Sandbox

ROOT, BUILD = "/work", ".fettle/build"
LEGACY = "setuptools.build_meta:__legacy__"
LEGACY_REQUIRES = ("setuptools", "wheel")
MACHINE = "/usr/local/bin:/usr/bin:/bin"
"""The folder of a compiler, if the sandbox's machine has one."""


@dataclass(frozen=True, slots=True)
class BuildBackend:
    """The backend that builds a project, and its requirements."""

    name: str = LEGACY
    path: tuple[str, ...] = ()
    requires: tuple[str, ...] = LEGACY_REQUIRES

    @classmethod
    def of(cls, pyproject: Mapping[str, Any]) -> BuildBackend:
        """The backend that the text of a pyproject.toml names."""
        system = pyproject.get("build-system", {})
        return cls(
            name=system.get("build-backend", LEGACY),
            path=tuple(system.get("backend-path", ())),
            requires=tuple(system.get("requires", LEGACY_REQUIRES)),
        )


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The files that a build has left in `/work`; `error` is the reason if the build failed."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SourceTree:
    """The source of a build: the project of these layers with these files over it and without
    `removed`, or a source distribution among the files.
    """

    layers: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    archive: str | None = None


Requires = Callable[[tuple[str, ...]], Awaitable[str | None]]
"""The layer with these requirements in BUILD; None without requirements."""


async def build(
    sandbox: Sandbox, backend: BuildBackend, source_tree: SourceTree, requires: Requires
) -> BuildResult:
    """The result of the backend. It is first asked for further requirements. Raises
    SandboxUnavailable, and every error that `requires` raises.
    """
    result = await _run(sandbox, backend, source_tree, await requires(backend.requires), ask=True)
    if isinstance(result, BuildResult):
        return result
    result = await _run(sandbox, result, source_tree, await requires(result.requires), ask=False)
    assert isinstance(result, BuildResult)
    return result


def parsed(pyproject: bytes | None) -> dict[str, Any]:
    """The tables of a pyproject.toml; empty if the text is invalid."""
    try:
        return tomllib.loads((pyproject or b"").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}


async def _run(
    sandbox: Sandbox,
    backend: BuildBackend,
    source_tree: SourceTree,
    requirements_layer: str | None,
    *,
    ask: bool,
) -> BuildResult | BuildBackend:
    order = {
        "backend": backend.name,
        "backend_path": backend.path,
        "ask": ask,
        "archive": source_tree.archive,
    }
    variables = f'PATH="$PATH:{MACHINE}" PYTHONPATH={ROOT}/{BUILD}'
    variables += " SETUPTOOLS_ENABLE_FEATURES=legacy-editable"
    result = await sandbox.run(
        Command(
            argv=("sh", "-c", f'{variables} exec python -c "$0"', source("building")),
            files=source_tree.files,
            stdin=json.dumps(order).encode(),
            trees=(*([requirements_layer] if requirements_layer else []), *source_tree.layers),
            removed=source_tree.removed,
        ),
        LIMITS,
    )
    try:
        reply = json.loads(result.stdout.text)
        error, more = reply["error"], reply["requires"]
    except (ValueError, KeyError):
        error, more = one_line(result.stderr.text[-400:]) or str(result.end), ()
    if more:
        return replace(backend, requires=(*backend.requires, *more))
    if error and (last := one_line(result.stderr.text[-200:])):
        error = f"{error}; {last}"
    return BuildResult(result.changed, error)
