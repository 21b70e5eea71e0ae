"""The task's own project, as if it were installed: its metadata, and the location of its modules.

A project that declares its name and version needs no build. Any other project is built by its own
backend, in the sandbox, from the base commit.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from pathlib import PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from lab.evals.repos.environment.backends import (
    ROOT,
    BuildBackend,
    Requires,
    SourceTree,
    build,
    parsed,
)
from lab.evals.repos.pytest_run import one_line
from sandbox.protocol import Sandbox

FOLDER = ".fettle/project"
EXCLUDE = ".git/info/exclude"
"""Patterns that the project's own list of ignored files lacks: `git status` does not show Fettle's
files.
"""
_NOT_KEPT = re.compile(r"(^|/)(__pycache__|build|[^/]+\.egg-info|\.git)/|\.pyc$|^\.fettle/build/")


@dataclass(frozen=True, slots=True)
class Installed:
    """Files over the repository, and the directories of its modules; `note` is the reason if it is
    not fully installed.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    roots: tuple[str, ...] = (ROOT,)
    note: str | None = None


def declared(pyproject: bytes | None, entries: Collection[str]) -> Installed | BuildBackend:
    """The project that its pyproject.toml declares, or otherwise its build backend. Pure."""
    content = parsed(pyproject)
    plain = Installed(roots=_roots(entries))
    project, system = content.get("project", {}), content.get("build-system")
    name, version = project.get("name"), project.get("version")
    unknown = {"dependencies", "optional-dependencies"} & set(project.get("dynamic", ()))
    if isinstance(name, str) and isinstance(version, str) and not unknown:
        if _has_module(name, entries) and not content.get("tool", {}).get("setuptools_scm"):
            return Installed(dict(_metadata(name, version, project)), plain.roots)
    elif not (project or system) and not {"setup.py", "setup.cfg"} & set(entries):
        return plain
    return BuildBackend.of(content)


async def build_project(
    sandbox: Sandbox,
    backend: BuildBackend,
    source_tree: SourceTree,
    entries: Collection[str],
    requires: Requires,
) -> Installed:
    """Build the project of `source_tree`. A project that cannot be built is not installed. Raises
    SandboxUnavailable."""
    result = await build(sandbox, backend, source_tree, requires)
    files = {
        path: content
        for path, content in result.files.items()
        if path not in entries and path not in source_tree.files and not _NOT_KEPT.search(path)
    }
    roots = dict.fromkeys((*_path_lines(files), *_roots(entries)))
    note = result.error and f"the project could not be built: {result.error}"
    return Installed(files, tuple(roots), note)


def unversioned(pyproject: bytes | None, setup_cfg: bytes | None) -> str | None:
    """The name of a project that declares its name, but no version. Pure."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    with suppress(configparser.Error):
        parser.read_string((setup_cfg or b"").decode(errors="replace"))
    older = dict(parser["metadata"]) if parser.has_section("metadata") else {}
    project = {**older, **parsed(pyproject).get("project", {})}
    name = project.get("name")
    return name if isinstance(name, str) and "version" not in project else None


def missing_requirements(
    installed: Installed,
    extras: Collection[str],
    installed_names: Collection[str],
    python: Mapping[str, str],
) -> list[str]:
    """The requirements of the project and of these extras that are not among `installed_names`, in
    an environment with these values of markers. Pure."""
    metadata = _metadata_of(installed)
    project_name, lines = (
        canonicalize_name(metadata["Name"] or "-"),
        metadata.get_all("Requires-Dist", []),
    )
    visited, pending = set[str](), [canonicalize_name(extra) for extra in extras]
    missing: dict[str, None] = {}
    while True:
        visited.update(pending)
        pending = []
        for extra in _met(lines, visited, python):
            if canonicalize_name(extra.name) == project_name:
                pending += [x for x in map(canonicalize_name, extra.extras) if x not in visited]
            elif canonicalize_name(extra.name) not in installed_names:
                extra.marker = None
                missing[str(extra)] = None
        if not pending:
            return list(missing)


def _met(
    lines: Sequence[str], extras: Collection[str], python: Mapping[str, str]
) -> Iterator[Requirement]:
    for line in lines:
        with suppress(InvalidRequirement):
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(
                marker.evaluate({**python, "extra": extra}) for extra in ("", *extras)
            ):
                yield requirement


def _metadata_of(installed: Installed) -> Message:
    texts = (x for path, x in installed.files.items() if path.endswith(".dist-info/METADATA"))
    return message_from_bytes(next(texts, b""))


def _roots(entries: Collection[str]) -> tuple[str, ...]:
    """The roots of modules: `src` first, if it exists and is not a package."""
    has_src_layout = (
        any(entry.startswith("src/") for entry in entries) and "src/__init__.py" not in entries
    )
    return (f"{ROOT}/src", ROOT) if has_src_layout else (ROOT,)


def _has_module(name: str, entries: Collection[str]) -> bool:
    """Whether the module with the project's name has one of the usual paths."""
    module = re.sub(r"[-.]+", "_", name).lower()
    usual = {f"{at}{module}{end}" for at in ("", "src/") for end in (".py", "/__init__.py")}
    return any(entry.lower() in usual for entry in entries)


def _metadata(name: str, version: str, project: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The files of the project's .dist-info."""
    folder = f"{FOLDER}/{re.sub(r'[-_.]+', '_', name)}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    for key, field_name in (("description", "Summary"), ("requires-python", "Requires-Python")):
        if key in project:
            lines.append(f"{field_name}: {one_line(str(project[key]))}")
    lines += [f"Requires-Dist: {dependency}" for dependency in project.get("dependencies", ())]
    for extra, requirements in project.get("optional-dependencies", {}).items():
        lines += [f"Requires-Dist: {dependency}" for dependency in _of_extra(extra, requirements)]
    yield f"{folder}/METADATA", ("\n".join(lines) + "\n").encode()
    groups = {"console_scripts": project.get("scripts", {}), **project.get("entry-points", {})}
    text = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
        for group, points in groups.items()
    )
    yield f"{folder}/entry_points.txt", text.encode()
    yield f"{folder}/RECORD", b""


def _of_extra(extra: str, requirements: Sequence[str]) -> Iterator[str]:
    """The requirements of an extra, under its condition."""
    for line in requirements:
        bare, _, marker = line.partition(";")
        condition = f'extra == "{canonicalize_name(extra)}"'
        yield f"{bare}; ({marker}) and {condition}" if marker.strip() else f"{bare}; {condition}"


def _path_lines(files: Mapping[str, bytes]) -> Iterator[str]:
    """The directories that path files add, as in an editable installation."""
    for path, content in files.items():
        if PurePosixPath(path).parent.as_posix() == FOLDER and path.endswith(".pth"):
            for line in content.decode(errors="replace").splitlines():
                if line.startswith(ROOT):
                    yield line.strip()
