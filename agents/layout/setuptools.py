"""What setuptools makes importable: a source directory as a whole, or packages one by one. Pure.

If all packages of a project are in one source directory (`package_dir = {"": "src"}`), setuptools
adds that directory to the module path. Otherwise it installs an import hook that finds only the
project's top-level packages and modules (setuptools/command/editable_wheel.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from agents.layout.importable import Importable, Project, inside, joined, table, texts_of
from agents.layout.setup_files import Find, Options, of_setup_cfg, of_setup_py

_NOT_PACKAGES = (
    *("[._]*", "ci", "bin", "debian", "doc", "docs", "documentation", "manpages", "news"),
    *("newsfragments", "changelog", "test", "tests", "unit_test", "unit_tests", "example"),
    *("examples", "scripts", "tools", "util", "utils", "python", "build", "benchmark"),
    *("benchmarks", "exercise", "exercises", "htmlcov", "tasks", "fabfile", "site_scons"),
)
_NOT_MODULES = (
    *("[._]*", "setup", "conftest", "test", "tests", "example", "examples", "build", "toxfile"),
    *("noxfile", "pavement", "dodo", "tasks", "fabfile", "[Ss][Cc]onstruct", "conanfile"),
    *("manage", "benchmark", "benchmarks", "exercise", "exercises"),
)
"""Names that setuptools' automatic discovery leaves out (setuptools/discovery.py)."""


@dataclass(frozen=True, slots=True)
class _Names:
    """Top-level packages and modules, by name; `directories` map packages to paths."""

    packages: tuple[str, ...]
    modules: tuple[str, ...]
    directories: Mapping[str, str]


def importable(project: Project) -> Importable:
    """By pyproject.toml, setup.py and setup.cfg together."""
    names = _names(project, _options(project))
    root = names.directories.get("")
    if root is not None and set(names.directories) == {""}:
        return Importable((joined(root),) if inside(joined(root)) else ())
    paths = {name: _path(name, names.directories) for name in (*names.packages, *names.modules)}
    roots = {name: path for name, path in paths.items() if not _nested(name, path, paths)}
    namespaces = {name.partition(".")[0] for name in roots if "." in name} - roots.keys()
    roots |= {name: _path(name, names.directories) for name in sorted(namespaces)}
    return Importable(modules={name: path for name, path in roots.items() if inside(path)})


def _options(project: Project) -> Options:
    """The settings; those of pyproject.toml come first, then setup.py's, then setup.cfg's."""
    options = of_setup_cfg(project.texts.get("setup.cfg", ""))
    if "setup.py" in project.paths:
        options = of_setup_py(project.texts.get("setup.py", "")).over(options)
    return _of_pyproject(table(project.pyproject, "tool", "setuptools")).over(options)


def _of_pyproject(tool: Mapping[str, Any]) -> Options:
    packages, find = tool.get("packages"), None
    if isinstance(packages, Mapping):
        options = table(packages, "find")
        find = Find(
            tuple(texts_of(options.get("where"))) or ("",),
            tuple(texts_of(options.get("include"))) or ("*",),
            tuple(texts_of(options.get("exclude"))),
            namespaces=options.get("namespaces") is not False,
        )
    directories = tool.get("package-dir")
    listed = tuple(texts_of(packages)) if isinstance(packages, list) else None
    modules = tool.get("py-modules")
    return Options(
        packages=listed,
        find=find,
        modules=tuple(texts_of(modules)) if isinstance(modules, list) else None,
        directories=_texts_by_name(directories) if isinstance(directories, Mapping) else None,
    )


def _texts_by_name(mapping: Mapping[Any, Any]) -> dict[str, str]:
    return {str(key): value for key, value in mapping.items() if isinstance(value, str)}


def _names(project: Project, options: Options) -> _Names:
    directories = dict(options.directories or {})
    modules = options.modules or ()
    if options.find is not None:
        packages, directories = _find_packages(project, options.find, directories)
        return _Names(packages, modules, directories)
    if not options.dynamic and (options.packages is not None or options.modules is not None):
        return _Names(options.packages or (), modules, directories)
    return _discovered(project, directories, guess=options.dynamic)


def _find_packages(
    project: Project, find: Find, directories: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The top-level packages of `find_packages`, and the directories of packages."""
    packages, paths = [], dict(directories)
    for root in map(joined, find.where):
        for name in _packages(project, root, namespaces=find.namespaces):
            included = _matches(name, find.include) or _match_inside(name, find.include)
            if included and not _matches(name, find.exclude):
                packages.append(name)
                if root and len(find.where) > 1:
                    paths[name] = joined(root, name)
        if root and len(find.where) == 1:
            paths.setdefault("", root)
    return tuple(packages), paths


def _packages(project: Project, root: str, *, namespaces: bool) -> Iterator[str]:
    for entry in project.top(root):
        name = entry.removesuffix("/")
        is_package = namespaces or f"{joined(root, name)}/__init__.py" in project.names
        if entry.endswith("/") and name.isidentifier() and is_package:
            yield name


def _discovered(project: Project, directories: dict[str, str], *, guess: bool) -> _Names:
    """The names that automatic discovery finds. setuptools refuses a flat project with several
    packages. `guess`: code names the packages, so that each package may be installed."""
    root = joined(directories.get("", "src"))
    if project.has_directory(root):
        return _Names((), (), {**directories, "": root})
    if any(directories):
        return _Names(tuple(name for name in directories if name), (), directories)
    names = _packages(project, "", namespaces=not guess)
    packages = tuple(name for name in names if not _matches(name, _NOT_PACKAGES))
    if packages:
        return _Names(packages if guess or len(packages) == 1 else (), (), directories)
    files = (name for name in project.top("") if not name.endswith("/"))
    modules = tuple(name for name in files if not _matches(name, _NOT_MODULES))
    return _Names((), modules if guess or len(modules) == 1 else (), directories)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _match_inside(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether patterns name packages of a namespace: `company.*`."""
    return any(pattern.startswith(f"{name}.") for pattern in patterns)


def _path(name: str, directories: Mapping[str, str]) -> str:
    """The path of a package or module: by the longest part of its name in `directories`."""
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        if (directory := directories.get(".".join(parts[:depth]))) is not None:
            return joined(directory, *parts[depth:])
    return joined(directories.get("", ""), *parts)


def _nested(name: str, path: str, paths: Mapping[str, str]) -> bool:
    """Whether a package is in the directory of another package, which leads to it."""
    parts = name.split(".")
    for depth in range(1, len(parts)):
        parent = paths.get(".".join(parts[:depth]))
        if parent is not None and path == joined(parent, *parts[depth:]):
            return True
    return False
