"""Guard: whether what judges a test is still what it was before the solution was imported.

It compares what the names in pytest, unittest, the builtins and the modules that the checks import
stand for: a solution that puts an `assertEqual` of its own into `unittest.TestCase` is found out,
though the test then passes. Values that a library changes itself are no functions, and are not
looked at.
"""

from __future__ import annotations

import builtins
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_PREFIXES = ("pytest", "_pytest", "pluggy", "unittest")
_CODE = (types.FunctionType, types.BuiltinFunctionType, type, property, classmethod, staticmethod)


class Guard:
    """Made before the solution can be imported; asked when the tests are over."""

    def __init__(self, also: Iterable[str]) -> None:
        watched = {name: module for name, module in sys.modules.items() if _is_judge(name)}
        watched |= {name: sys.modules[name] for name in also if name in sys.modules}
        watched["builtins"] = builtins
        self._modules = watched
        self._seen = list(_names(watched.values()))
        self._loaded, self._missing = sys.modules, object()

    def changed(self) -> list[str]:
        """What stands for something else now, by name."""
        replaced = [
            name for name, was in self._modules.items() if self._loaded.get(name) is not was
        ]
        for where, names, name, was, code in self._seen:
            now = names.get(name, self._missing)
            if now is not was or (code is not None and now.__code__ is not code):
                replaced.append(f"{where}.{name}")
        return replaced


def _is_judge(name: str) -> bool:
    return name.partition(".")[0] in _PREFIXES


def _names(modules: Iterable[Any]) -> Iterator[tuple[str, Any, str, Any, Any]]:
    """(where, the names there, one of them, what it is, its code) of all functions and classes."""
    seen: set[int] = set()
    for module in modules:
        where, judge = module.__name__, _is_judge(module.__name__)
        for name, value in list(vars(module).items()):
            if not isinstance(value, _CODE):
                continue
            yield where, vars(module), name, value, getattr(value, "__code__", None)
            if judge and isinstance(value, type) and id(value) not in seen:
                seen.add(id(value))
                yield from _of_class(value)


def _of_class(kind: type) -> Iterator[tuple[str, Any, str, Any, Any]]:
    for name, value in list(vars(kind).items()):
        if isinstance(value, _CODE):
            yield kind.__qualname__, vars(kind), name, value, getattr(value, "__code__", None)
