"""The files of a run's `site-packages` directory that make a project importable, and the
dependencies that its setup has installed.

Fettle puts no file into the workspace and sets no environment variable for this. So a program that
starts another program with a different environment still finds the same modules. Python reads the
`.pth` files in the order of their names: first the project, then the dependencies.

See ADR 56 and ADR 69.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agents.layout import backends, setuptools
from agents.layout.importable import Importable, Project, joined, table, texts_of
from agents.layout.setuptools import literal_arguments, settings
from agents.sandbox_programs import pth_line

NAME = "project.pth"
SETUP_PTH = "setup.pth"
_DISTRIBUTION = "version-of-project"
"""A directory that no import finds, and the name of its `.pth` file. It is read after `setup.pth`:
a setup that has installed the project knows its true version."""
_WORK = "/work"


def setup_pth() -> bytes:
    """The file `SETUP_PTH`. It adds the packages of `.setup/` to the module path."""
    return f"{pth_line('setup_packages')}\n".encode()


def site_of(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The site files for a project with these `files`; empty for a project without metadata. A
    check uses this site, so it has no entry points: a check loads no plug-in of the project.
    Pure."""
    texts = {
        name: files[name].decode(errors="replace")
        for name in METADATA
        if len(files.get(name, b"")) <= METADATA_BYTES and name in files
    }
    site = project_site(files, texts)
    return {name: data for name, data in site.items() if not name.endswith(f"/{ENTRY_POINTS}")}


def project_site(paths: Collection[str], texts: Mapping[str, str]) -> dict[str, bytes]:
    """The site files for a project with these `paths`; `texts` are its files in `METADATA`."""
    if not texts:
        return {}
    importable = editable(paths, texts)
    lines = [str(Path(_WORK, directory)) for directory in importable.directories]
    if importable.modules:
        modules = {name: f"{_WORK}/{joined(path)}" for name, path in importable.modules.items()}
        lines.append(pth_line("finder", MODULES=modules))
    site = {NAME: "".join(f"{line}\n" for line in lines).encode()} if lines else {}
    if files := editable_metadata(paths, texts):
        site[f"{_DISTRIBUTION}.pth"] = f"{_DISTRIBUTION}\n".encode()
        site |= {f"{_DISTRIBUTION}/{path}": data for path, data in files.items()}
    return site


METADATA: Final = ("pyproject.toml", "setup.cfg", "setup.py")
"""The files that `editable` reads, in the project's directory."""
METADATA_BYTES: Final = 64 * 1024
"""The largest of these files that is read. A project may have files of any size."""
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
    return Project(paths, parse_toml(texts.get("pyproject.toml", "")), texts)


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


def parse_toml(text: str) -> Mapping[str, Any]:
    """A TOML file; empty if it cannot be read."""
    if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


ENTRY_POINTS: Final = "entry_points.txt"
_UNKNOWN_VERSION = "0.0.0"
"""As setuptools has it. Code of the project, or git, computes the true version."""
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]{0,60}[A-Za-z0-9])?", re.ASCII)
_VERSION = re.compile(r"[0-9][\w.+!-]{0,60}", re.ASCII)
_GROUP = re.compile(r"[\w.-]{1,80}", re.ASCII)
_ENTRY_POINT = re.compile(
    r"\w[\w.-]{0,79} *= *[\w.]{1,200}(:[\w.]{1,200})?( *\[[\w, -]*\])?", re.ASCII
)
"""`name = module:object [extra]`."""


def dist_info(project: Project) -> dict[str, bytes]:
    """The files of its `.dist-info`, by path; empty for a project without a name."""
    cfg = dict(settings(project.texts.get("setup.cfg", "")))
    call = literal_arguments(project.texts.get("setup.py", ""))
    sources = (
        table(project.pyproject, "project"),
        table(project.pyproject, "tool", "poetry"),
        call,
        {key: cfg.get(f"metadata.{key}") for key in ("name", "version")},
    )
    name = _first(sources, "name", _NAME)
    if name is None:
        return {}
    version = _first(sources, "version", _VERSION) or _UNKNOWN_VERSION
    folder = f"{re.sub(r'[-_.]+', '_', name)}.dist-info"
    files = {f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}
    groups = "\n".join(_entry_points(project.pyproject, call.get("entry_points"), cfg))
    if groups:
        files[f"{folder}/{ENTRY_POINTS}"] = f"{groups}\n"
    return {path: text.encode() for path, text in files.items()}


def _first(sources: tuple[Mapping[str, Any], ...], key: str, form: re.Pattern[str]) -> str | None:
    values = (source.get(key) for source in sources)
    texts = (value for value in values if isinstance(value, str))
    return next(filter(form.fullmatch, texts), None)


def _entry_points(
    pyproject: Mapping[str, Any], call: object, cfg: Mapping[str, str]
) -> Iterator[str]:
    """The lines of `entry_points.txt`."""
    project, poetry = table(pyproject, "project"), table(pyproject, "tool", "poetry")
    for scripts in (table(project, "scripts"), table(poetry, "scripts")):
        yield from _group("console_scripts", scripts)
    for groups in (table(project, "entry-points"), table(poetry, "plugins"), call):
        for group, points in groups.items() if isinstance(groups, Mapping) else ():
            yield from _group(str(group), points)
    for key, value in cfg.items():
        section, _, group = key.rpartition(".")
        if section == "options.entry_points":
            yield from _group(group, value.splitlines())


def _group(name: str, points: object) -> Iterator[str]:
    """A group from a table of names, or from a list of `name = object`."""
    if isinstance(points, Mapping):
        points = [f"{key} = {value}" for key, value in points.items() if isinstance(value, str)]
    if points and isinstance(points, list | tuple) and _GROUP.fullmatch(name):
        lines = (str(point).strip() for point in points)
        yield from (f"[{name}]", *filter(_ENTRY_POINT.fullmatch, lines))
