"""What an editable install of a project makes importable, by the project's metadata. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from agents.layout import backends, setuptools
from agents.layout.distribution import dist_info
from agents.layout.importable import Importable, Project, table, texts_of

METADATA: Final = ("pyproject.toml", "setup.cfg", "setup.py")
"""The files that `editable` reads, in the project's directory."""
METADATA_BYTES: Final = 64 * 1024
"""The largest of these files that is read: they are anybody's."""
_MOST_DOTS = 50
"""In a line of TOML: tomllib is quadratic in the parts of a dotted key."""

_Rule = Callable[[Project], Importable]
_RULES: Mapping[str, _Rule] = {
    "flit": backends.flit,
    "flit_core": backends.flit,
    "hatchling": backends.hatch,
    "maturin": backends.maturin,
    "pdm": backends.pdm,
    "pdm_backend": backends.pdm,
    "poetry": backends.poetry,
    "poetry_core": backends.poetry,
    "setuptools": setuptools.importable,
    "uv_build": backends.uv,
}
"""By the first part of the build backend's name, or by the name of its distribution."""


def editable(paths: Collection[str], texts: Mapping[str, str]) -> Importable:
    """`paths` are all files of the project, `texts` the contents of those in `METADATA`. A project
    that pip refuses to install makes nothing importable."""
    project = _project(paths, texts)
    rule = _rule_of(project)
    return rule(project) if rule else Importable()


def editable_metadata(paths: Collection[str], texts: Mapping[str, str]) -> dict[str, bytes]:
    """The files of the install's `.dist-info`, by path; empty for a project without a name, or that
    pip refuses to install."""
    project = _project(paths, texts)
    return dist_info(project) if _rule_of(project) else {}


def _project(paths: Collection[str], texts: Mapping[str, str]) -> Project:
    return Project(paths, _toml(texts.get("pyproject.toml", "")), texts)


def _rule_of(project: Project) -> _Rule | None:
    """The rule of a project's build system; None for a project without metadata. Without a build
    system, setuptools is the default. A project that has its metadata only in setup.cfg can be
    installed only if it also has a pyproject.toml."""
    system = project.pyproject.get("build-system")
    declared = table(project.pyproject, "project") or "setup.py" in project.paths
    if isinstance(system, dict) or declared:
        return _rule(table(project.pyproject, "build-system"))
    if table(project.pyproject, "tool", "poetry"):
        return backends.poetry
    of_setup_cfg = "pyproject.toml" in project.paths and "[metadata]" in project.texts.get(
        "setup.cfg", ""
    )
    return setuptools.importable if of_setup_cfg else None


def _rule(system: Mapping[str, Any]) -> _Rule:
    """The rule of a build system. A backend of another name, which may be the project's own, mostly
    wraps the backend that it requires."""
    backend = str(system.get("build-backend") or "setuptools")
    name = backend.partition(".")[0].partition(":")[0]
    if name in _RULES:
        return _RULES[name]
    for requirement in texts_of(system.get("requires")):
        normal = requirement.replace("-", "_").replace(".", "_")
        if rule := next((_RULES[name] for name in _RULES if normal.startswith(name)), None):
            return rule
    return backends.unknown


def _toml(text: str) -> Mapping[str, Any]:
    """A TOML file; empty if it cannot be read."""
    if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
