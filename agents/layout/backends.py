"""The build backends that put directories on the module path: one function each. Pure.

Each follows the backend's own rule for an editable install (PEP 660), which writes one line of a
`.pth` file for each directory.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

from agents.layout.importable import Importable, Project, inside, joined, table, texts_of


def flit(project: Project) -> Importable:
    """The directory that has the one module of the project."""
    tool = table(project.pyproject, "tool", "flit")
    old = table(tool, "metadata").get("module")
    module = table(tool, "module").get("name") or old or project.name
    return _directories(project.beside(str(module)))


def hatch(project: Project) -> Importable:
    """`dev-mode-dirs`, or the parent directories of the wheel's packages."""
    build = table(project.pyproject, "tool", "hatch", "build")
    wheel = table(build, "targets", "wheel")
    if explicit := texts_of(wheel.get("dev-mode-dirs", build.get("dev-mode-dirs"))):
        return _directories(explicit)
    packages = texts_of(wheel.get("packages", build.get("packages")))
    if packages:
        return _directories(posixpath.dirname(joined(package)) for package in packages)
    if sources := wheel.get("sources", build.get("sources")):
        return _directories(_hatch_sources(sources))
    chosen = ("include", "only-include", "force-include")
    if any(wheel.get(name) or build.get(name) for name in chosen):
        return _directories([""])
    name = project.name.lower()
    parents = project.beside(project.name) or project.beside(name)
    if parents or not name:
        return _directories(parents)
    namespaces = [top for top in project.top("") if project.has_module(joined(top, name))]
    return _directories([""] if len(namespaces) == 1 else [])


def _hatch_sources(sources: object) -> Iterable[str]:
    """The directories that the wheel leaves out of its paths, or replaces by others."""
    if isinstance(sources, Mapping):
        return [key if not to else posixpath.dirname(joined(key)) for key, to in sources.items()]
    return texts_of(sources)


def maturin(project: Project) -> Importable:
    """`python-source`, by default the project's directory."""
    source = table(project.pyproject, "tool", "maturin").get("python-source")
    return _directories([source if isinstance(source, str) else ""])


def pdm(project: Project) -> Importable:
    """`package-dir`; by default `src` if it exists, otherwise the project's directory."""
    build = table(project.pyproject, "tool", "pdm", "build")
    default = "src" if project.has_directory("src") else ""
    directory = build.get("package-dir", default)
    return _directories([directory if isinstance(directory, str) else default])


def poetry(project: Project) -> Importable:
    """The directory of each of `packages`, or of the module with the project's name."""
    tool = table(project.pyproject, "tool", "poetry")
    if tool.get("package-mode") is False:
        return Importable()
    packages = tool.get("packages")
    if isinstance(packages, list) and packages:
        return _directories(map(_poetry_directory, packages))
    return _directories(project.beside(project.name) or project.beside(project.name.lower()))


def _poetry_directory(package: Any) -> str:
    directory = package.get("from") if isinstance(package, Mapping) else None
    return directory if isinstance(directory, str) else ""


def uv(project: Project) -> Importable:
    """`module-root`, which is `src` by default."""
    root = table(project.pyproject, "tool", "uv", "build-backend").get("module-root", "src")
    return _directories([root if isinstance(root, str) else "src"])


def unknown(project: Project) -> Importable:
    """The usual places: `src` if there is a module in it, otherwise the project's directory."""
    names = project.top("src")
    in_src = any(project.has_module(joined("src", name.rstrip("/"))) for name in names)
    return _directories(["src" if in_src else ""])


def _directories(paths: Iterable[str]) -> Importable:
    return Importable(tuple(dict.fromkeys(filter(inside, map(joined, paths)))))
