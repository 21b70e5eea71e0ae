"""The metadata of a project's editable install, for `importlib.metadata` and for plug-ins. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agents.layout.importable import Project, table
from agents.layout.setup_files import literal_arguments, settings

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
