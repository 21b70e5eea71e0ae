"""Guard: whether what judges a test is still what it was before the solution was imported.

It compares what the names in pytest, unittest, the builtins and the packages that the checks import
stand for: a solution that puts an `assertEqual` of its own into `unittest.TestCase` is found out,
though the test then passes. Values that a library changes itself cannot be called, and are not
looked at. Of the judge's own modules everything is, and of pytest's hooks who answers them. What a
value is, its type says: `isinstance` would ask the value too, and a lazy one runs code to answer.
"""

from __future__ import annotations

import builtins
import operator
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Entry = tuple[str, Mapping[str, Any], str, object, tuple[object, ...]]
    """Where, the names there, one of them, what it stands for, what that consists of."""

_PREFIXES = ("pytest", "_pytest", "pluggy", "unittest")
_STANDS_ON = ("contextlib", "functools", "operator", "types")
"""What the former are made of, and nobody has a reason to change."""
_IS, _FUNCTION = operator.is_, types.FunctionType
"""Bound now: others may be put in their place."""
_CODE = (types.FunctionType, types.BuiltinFunctionType, type, property, classmethod, staticmethod)

BUILTINS = frozenset(vars(builtins))


class Guard:
    """Made before the solution can be imported; asked when the tests are over. `also` are names of
    modules, whose packages are looked at, `own` the judge's modules, which are in no list any more.
    """

    def __init__(self, also: Iterable[str], own: Sequence[types.ModuleType] = ()) -> None:
        tops = {*_PREFIXES, *_STANDS_ON, *(name.partition(".")[0] for name in also)}
        watched = {
            name: module
            for name, module in sys.modules.items()
            if name.partition(".")[0] in tops and issubclass(type(module), types.ModuleType)
        }
        watched["builtins"] = builtins
        self._modules = watched
        asked = "sys", vars(sys), "exc_info", sys.exc_info, ()  # by unittest, what went wrong
        self._seen, self._own = [*_names(watched.values()), asked], list(_all_names(own))
        self._early: list[str] = []
        self._loaded, self._missing = sys.modules, object()
        judges = [module for name, module in watched.items() if _is_judge(name)]
        self._shadows = [(each.__name__, vars(each), _shadows(each)) for each in [*judges, *own]]
        self._hooks: list[tuple[Any, object]] = []
        self._plugins: tuple[Any, list[Any], Mapping[str, object]] | None = None

    def watch(self, plugins: Any, loaded: Mapping[str, types.ModuleType]) -> None:
        """Look at pytest's plug-ins as well, and at what they answer its hooks with. A plug-in more
        may only be one of the checks' own modules, which are `loaded`.
        """
        callers = [each for each in vars(plugins.hook).values() if hasattr(each, "get_hookimpls")]
        impls = [impl for caller in callers for impl in caller.get_hookimpls()]
        self._hooks = [(impl, impl.function) for impl in impls]
        self._plugins = (plugins, list(plugins.get_plugins()), loaded)

    def look(self) -> None:
        """Take down what of the judge's own and of pytest's hooks is something else now, though it
        may be put back later. They are few enough to be asked for behind each test.
        """
        self._early += [*self._others(self._own), *self._answering()]

    def changed(self) -> list[str]:
        """What stands for something else now, or did when it was looked at, by name."""
        replaced = [
            name for name, was in self._modules.items() if self._loaded.get(name) is not was
        ]
        replaced += [*self._others(self._seen), *self._others(self._own)]
        for where, names, was in self._shadows:
            replaced += [f"{where}.{name}" for name in names.keys() & BUILTINS - was]
        found = [*self._early, *replaced, *self._answering(), *self._registered()]
        return list(dict.fromkeys(found))

    def _others(self, entries: Iterable[Entry]) -> Iterator[str]:
        for where, names, name, was, parts in entries:
            if not same(names.get(name, self._missing), was, parts):
                yield f"{where}.{name}"

    def _answering(self) -> list[str]:
        return [str(impl.plugin_name) for impl, was in self._hooks if impl.function is not was]

    def _registered(self) -> list[str]:
        if self._plugins is None:
            return []
        plugins, known, loaded = self._plugins
        fine = {id(each) for each in (*known, *loaded.values())}
        return ["a plug-in" for each in plugins.get_plugins() if id(each) not in fine]


def _is_judge(name: str) -> bool:
    return name.partition(".")[0] in (*_PREFIXES, *_STANDS_ON)


def inside(value: Any) -> tuple[object, ...]:
    """What a function consists of that can be exchanged; of anything else nothing."""
    if issubclass(type(value), classmethod | staticmethod):
        value = value.__func__
    elif issubclass(type(value), property):
        value = value.fget
    if type(value) is not _FUNCTION:
        return ()
    return value.__code__, value.__defaults__, value.__kwdefaults__


def same(now: object, was: object, parts: tuple[object, ...]) -> bool:
    """Whether a name stands for what it did, and that consists of the same `parts`."""
    return now is was and (not parts or all(map(_IS, inside(now), parts)))


def members(kind: type) -> Iterator[Entry]:
    """The functions and classes of a class."""
    for name, value in list(vars(kind).items()):
        if issubclass(type(value), _CODE):
            yield kind.__qualname__, vars(kind), name, value, inside(value)


def _names(modules: Iterable[Any]) -> Iterator[Entry]:
    """All that can be called in modules; of the judge's also what is in their classes."""
    seen: set[int] = set()
    for module in modules:
        where, judge = module.__name__, _is_judge(module.__name__)
        for name, value in list(vars(module).items()):
            if not (callable(value) or issubclass(type(value), _CODE)):
                continue
            yield where, vars(module), name, value, inside(value)
            if judge and issubclass(type(value), type) and id(value) not in seen:
                seen.add(id(value))
                yield from members(value)


def _all_names(own: Iterable[types.ModuleType]) -> Iterator[Entry]:
    """The same of the judge's own modules, where nothing has a reason to change."""
    for module in own:
        for name, value in list(vars(module).items()):
            yield module.__name__, vars(module), name, value, inside(value)
            if issubclass(type(value), type) and value.__module__ == module.__name__:
                yield from members(value)


def _shadows(module: types.ModuleType) -> frozenset[str]:
    """The names of builtins that a module has a meaning of its own for."""
    return BUILTINS.intersection(vars(module))
