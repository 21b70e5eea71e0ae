"""The rule of setuptools: the modules that pyproject.toml, setup.py and setup.cfg make importable,
read without running them. Pure.

If all packages of a project are in one source directory (`package_dir = {"": "src"}`), setuptools
adds that directory to the module path. Otherwise it installs an import hook that finds only the
project's top-level packages and modules (setuptools/command/editable_wheel.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from agents.layout.importable import Importable, Project, inside, joined, table, texts_of

_FINDERS = {"find_packages": False, "find_namespace_packages": True}
_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class FindPackages:
    """A call of `find_packages`. The fields have the names of setuptools' arguments."""

    where: tuple[str, ...] = ("",)
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    namespaces: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of one file; None for a setting that the file does not have. `directories`: the
    directories of packages, by package. `dynamic`: code computes the packages, so that reading the
    file does not show them."""

    packages: tuple[str, ...] | None = None
    find: FindPackages | None = None
    modules: tuple[str, ...] | None = None
    directories: Mapping[str, str] | None = None
    dynamic: bool = False

    def over(self, defaults: Options) -> Options:
        """These settings; a setting that is missing here has its value of `defaults`."""
        sets_packages = self.packages is not None or self.find is not None or self.dynamic
        source = self if sets_packages else defaults
        return Options(
            packages=source.packages,
            find=source.find,
            modules=defaults.modules if self.modules is None else self.modules,
            directories=defaults.directories if self.directories is None else self.directories,
            dynamic=source.dynamic,
        )


def of_setup_cfg(text: str) -> Options:
    """The packages and modules that a setup.cfg names."""
    values = dict(settings(text))
    packages, modules = values.get("options.packages"), values.get("options.py_modules")
    directories = values.get("options.package_dir")
    listed = None if packages is None else tuple(_list(packages))
    find = None
    if listed in {("find:",), ("find_namespace:",)}:
        find = FindPackages(
            tuple(_list(values.get("options.packages.find.where", ""))) or ("",),
            tuple(_list(values.get("options.packages.find.include", ""))) or ("*",),
            tuple(_list(values.get("options.packages.find.exclude", ""))),
            namespaces=listed == ("find_namespace:",),
        )
        listed = None
    pairs = (line.partition("=") for line in _list(directories or ""))
    return Options(
        packages=listed,
        find=find,
        modules=None if modules is None else tuple(_list(modules)),
        directories=None
        if directories is None
        else {name.strip(): directory.strip() for name, _, directory in pairs},
    )


def settings(text: str) -> Iterator[tuple[str, str]]:
    """The settings of a setup.cfg as pairs of `section.key` and value. A value continues on lines
    that are indented. (`configparser` needs quadratic time for the spaces of a line.)"""
    section = key = ""
    value: list[str] = []
    for line in [*text.splitlines(), "["]:
        if line[:1] in {"#", ";"} or (line[:1].isspace() and not key):
            continue
        if line[:1].isspace() or not line:
            value.append(line.strip())
            continue
        if key:
            yield f"{section}.{key}", "\n".join(value)
            key = ""
        if line.startswith("["):
            section = line.strip().strip("[]").strip()
        else:
            cut = min((at for at in (line.find("="), line.find(":")) if at >= 0), default=-1)
            if cut >= 0:
                key, value = line[:cut].strip().lower().replace("-", "_"), [line[cut + 1 :].strip()]


def _list(text: str) -> Iterator[str]:
    """The elements of a value; commas or line ends separate them."""
    for part in text.replace(",", "\n").splitlines():
        if element := part.strip():
            yield element


def of_setup_py(text: str) -> Options:
    """The packages and modules that the call of `setup` in a setup.py names by literals."""
    arguments = _arguments(text)
    return Options(dynamic=True) if arguments is None else _of_call(arguments)


def literal_arguments(text: str) -> dict[str, Any]:
    """The arguments of the call of `setup` in a setup.py that are literal."""
    arguments = _arguments(text) or {}
    return {name: _literal(value) for name, value in arguments.items()}


def _arguments(text: str) -> dict[str, ast.expr] | None:
    """The arguments of the call of `setup`; None for a file that is not Python."""
    try:
        tree = ast.parse(text)
    except _UNPARSABLE:
        return None
    names = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    call = next(filter(_is_setup, ast.walk(tree)), None)
    if not isinstance(call, ast.Call):
        return {}
    arguments: dict[str, ast.expr] = {}
    for keyword in call.keywords:
        value = _resolved(keyword.value, names)
        arguments |= {keyword.arg: value} if keyword.arg else _unpacked(value)
    return {name: _resolved(value, names) for name, value in arguments.items()}


def _unpacked(value: ast.expr) -> dict[str, ast.expr]:
    """The arguments in `**value`: a literal table, or a call of `dict`."""
    if isinstance(value, ast.Dict):
        pairs = zip(value.keys, value.values, strict=True)
        return {str(key.value): item for key, item in pairs if isinstance(key, ast.Constant)}
    keywords = value.keywords if isinstance(value, ast.Call) else []
    return {keyword.arg: keyword.value for keyword in keywords if keyword.arg}


def _of_call(arguments: Mapping[str, ast.expr]) -> Options:
    packages = arguments.get("packages")
    find = None if packages is None else _find(packages)
    listed = None if packages is None else _literal(packages)
    modules = _literal(arguments["py_modules"]) if "py_modules" in arguments else None
    directories = _literal(arguments["package_dir"]) if "package_dir" in arguments else None
    return Options(
        packages=_texts(listed),
        find=find,
        modules=_texts(modules),
        directories={str(name): str(directory) for name, directory in directories.items()}
        if isinstance(directories, dict)
        else None,
        dynamic=packages is not None and find is None and _texts(listed) is None,
    )


def _is_setup(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return getattr(node.func, "attr", getattr(node.func, "id", "")) == "setup"


def _resolved(value: ast.expr, names: Mapping[str, ast.expr]) -> ast.expr:
    """The value of a name that is assigned at the top of the file."""
    return names.get(value.id, value) if isinstance(value, ast.Name) else value


def _find(value: ast.expr) -> FindPackages | None:
    """A call of `find_packages` with literal arguments."""
    if not isinstance(value, ast.Call):
        return None
    namespaces = _FINDERS.get(getattr(value.func, "attr", getattr(value.func, "id", "")))
    if namespaces is None:
        return None
    order = ("where", "exclude", "include")
    arguments: dict[str, Any] = {
        name: _literal(argument) for name, argument in zip(order, value.args, strict=False)
    }
    arguments |= {keyword.arg: _literal(keyword.value) for keyword in value.keywords if keyword.arg}
    root = arguments.get("where")
    return FindPackages(
        (root if isinstance(root, str) else "",),
        _texts(arguments.get("include")) or ("*",),
        _texts(arguments.get("exclude")) or (),
        namespaces=namespaces,
    )


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (*_UNPARSABLE, TypeError):
        return None


def _texts(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple | set):
        return None
    return tuple(sorted(value) if isinstance(value, set) else value)


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
    """The settings. pyproject.toml has priority over setup.py, and setup.py over setup.cfg."""
    options = of_setup_cfg(project.texts.get("setup.cfg", ""))
    if "setup.py" in project.paths:
        options = of_setup_py(project.texts.get("setup.py", "")).over(options)
    return _of_pyproject(table(project.pyproject, "tool", "setuptools")).over(options)


def _of_pyproject(tool: Mapping[str, Any]) -> Options:
    packages, find = tool.get("packages"), None
    if isinstance(packages, Mapping):
        options = table(packages, "find")
        find = FindPackages(
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
    project: Project, find: FindPackages, directories: Mapping[str, str]
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
