"""The packages that setup.py and setup.cfg name, read without running them. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_FINDERS = {"find_packages": False, "find_namespace_packages": True}
_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class Find:
    """A call of `find_packages`, with the names that setuptools gives its arguments."""

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
    find: Find | None = None
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
        find = Find(
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


def _find(value: ast.expr) -> Find | None:
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
    return Find(
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
