"""The task's own project, as if it were installed: its metadata, and where its modules are.

A project that declares its name and version needs no build. Any other is built by its own backend,
in the sandbox, from the base commit.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from evals.repos.pytest_run import LIMITS, Tree, one_line, source
from sandbox.protocol import Command, Sandbox

ROOT, FOLDER, BUILD = "/work", ".fettle/project", ".fettle/build"
EXCLUDE = ".git/info/exclude"
"""What is not in the project's own list of ignored files: `git status` shows nothing of ours."""
LEGACY = "setuptools.build_meta:__legacy__"
LEGACY_REQUIRES = ("setuptools", "wheel")
_NOT_KEPT = re.compile(r"(^|/)(__pycache__|build|[^/]+\.egg-info|\.git)/|\.pyc$|^\.fettle/build/")


@dataclass(frozen=True, slots=True)
class Installed:
    """Files over the repository, and the directories that its modules are imported from; `note` is
    why it is not wholly installed."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    roots: tuple[str, ...] = (ROOT,)
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Backend:
    """What builds the project, and what that requires."""

    name: str = LEGACY
    path: tuple[str, ...] = ()
    requires: tuple[str, ...] = LEGACY_REQUIRES


def declared(pyproject: bytes | None, entries: Collection[str]) -> Installed | Backend:
    """The project as its pyproject.toml declares it, else what has to build it. Pure."""
    content = _parsed(pyproject)
    plain = Installed(roots=_roots(entries))
    project, system = content.get("project", {}), content.get("build-system")
    name, version = project.get("name"), project.get("version")
    if isinstance(name, str) and isinstance(version, str):
        if _has_module(name, entries) and not content.get("tool", {}).get("setuptools_scm"):
            return Installed(dict(_metadata(name, version, project)), plain.roots)
    elif not (project or system) and not {"setup.py", "setup.cfg"} & set(entries):
        return plain
    system = system or {}
    return Backend(
        name=system.get("build-backend", LEGACY),
        path=tuple(system.get("backend-path", ())),
        requires=tuple(system.get("requires", LEGACY_REQUIRES)),
    )


async def built(
    sandbox: Sandbox,
    backend: Backend,
    layers: tuple[str, ...],
    entries: Collection[str],
    *,
    ask: bool,
) -> Installed | Backend:
    """What the backend makes of the repository in `layers`; to `ask`, one that requires more says
    so. A project that cannot be built is not installed. Raises SandboxUnavailable."""
    order = {"backend": backend.name, "backend_path": backend.path, "ask": ask}
    environment = (f"PYTHONPATH={ROOT}/{BUILD}", "SETUPTOOLS_ENABLE_FEATURES=legacy-editable")
    result = await sandbox.run(
        Command(
            argv=("env", *environment, "python", "-c", source("building")),
            stdin=json.dumps(order).encode(),
            layers=layers,
        ),
        LIMITS,
    )
    error: str | None
    try:
        said = json.loads(result.stdout.text)
        error, more = said["error"], said["requires"]
        if more:
            return replace(backend, requires=(*backend.requires, *more))
    except (ValueError, KeyError):
        error = one_line(result.stderr.text[-400:]) or str(result.end)
    files = {
        path: content
        for path, content in result.changed.items()
        if path not in entries and not _NOT_KEPT.search(path)
    }
    roots = dict.fromkeys((*_path_lines(files), *_roots(entries)))
    return Installed(files, tuple(roots), error and f"the project could not be built: {error}")


def _parsed(pyproject: bytes | None) -> dict[str, Any]:
    try:
        return tomllib.loads((pyproject or b"").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}


def _roots(entries: Collection[str]) -> tuple[str, ...]:
    """`src` first, where there is one without being a package itself."""
    has = any(each.startswith("src/") for each in entries) and "src/__init__.py" not in entries
    return (f"{ROOT}/src", ROOT) if has else (ROOT,)


def _has_module(name: str, entries: Collection[str]) -> bool:
    """Whether the module of a project's name is in a usual place."""
    module = re.sub(r"[-.]+", "_", name).lower()
    usual = {f"{at}{module}{end}" for at in ("", "src/") for end in (".py", "/__init__.py")}
    return any(each.lower() in usual for each in entries)


def _metadata(name: str, version: str, project: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The files of the project's .dist-info."""
    folder = f"{FOLDER}/{re.sub(r'[-_.]+', '_', name)}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    for key, field_name in (("description", "Summary"), ("requires-python", "Requires-Python")):
        if key in project:
            lines.append(f"{field_name}: {one_line(str(project[key]))}")
    lines += [f"Requires-Dist: {each}" for each in project.get("dependencies", ())]
    yield f"{folder}/METADATA", ("\n".join(lines) + "\n").encode()
    groups = {"console_scripts": project.get("scripts", {}), **project.get("entry-points", {})}
    text = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
        for group, points in groups.items()
    )
    yield f"{folder}/entry_points.txt", text.encode()
    yield f"{folder}/RECORD", b""


def _path_lines(files: Mapping[str, bytes]) -> Iterator[str]:
    """The directories that path files add, as an editable installation has them."""
    for path, content in files.items():
        if PurePosixPath(path).parent.as_posix() == FOLDER and path.endswith(".pth"):
            for line in content.decode(errors="replace").splitlines():
                if line.startswith(ROOT):
                    yield line.strip()


def over(base: str, packages: str | None, installed: Installed) -> Tree:
    """The tree of a task's base with its environment: pinned packages come after the project, and
    before all that the sandbox has itself."""
    sites = [f"{ROOT}/{FOLDER}"] + ([f"{ROOT}/.fettle/packages"] if packages else [])
    return Tree(
        layers=(*([packages] if packages else []), base),
        files={**installed.files, EXCLUDE: b".fettle/\n"},
        paths=(*installed.roots, *sites),
        sites=tuple(sites),
    )
