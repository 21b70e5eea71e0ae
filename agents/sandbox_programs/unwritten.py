"""Completes the modules that the tester's tests import, for a trial of the tests without a
solution. The `.pth` file of the trial executes this text when an interpreter starts.

A module that does not exist has every name, and each call of a name fails. An existing module keeps
its names and gets the missing ones, unless it is to be replaced, too.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec

MODULES: dict[str, bool]
"""Modules by name: whether an existing module is replaced. The `.pth` file defines them before this
text."""


class NoSolution(BaseException):
    """The error of each call. No `except Exception` catches it."""


class Failing:
    """A class that the solution has to define."""

    def __init__(self, *_args: object, **_named: object) -> None:
        fail()


def fail(*_args: object, **_named: object) -> None:
    """Fail, as each call of the solution."""
    raise NoSolution("there is no solution")


def missing(name: str) -> object:
    """A value for a name that a module does not have."""
    if name.endswith(("Error", "Exception")):
        return type(name, (Exception,), {})
    return type(name, (Failing,), {}) if name[0].isupper() else fail


def complete(module) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Give a module every name. A submodule, and the module's own `__getattr__`, come first."""
    get_attribute = vars(module).get("__getattr__")

    def find(name: str) -> object:
        if get_attribute is not None:
            try:
                return get_attribute(name)
            except AttributeError:
                pass
        if name.startswith("__"):  # the import system asks for some of them
            raise AttributeError(name)
        submodule = f"{module.__name__}.{name}"
        try:
            return import_module(submodule)
        except ModuleNotFoundError as error:
            if error.name not in {submodule, module.__name__}:
                raise
        value = missing(name)
        setattr(module, name, value)
        return value

    module.__getattr__ = find


class EmptyLoader:
    """Loads a module that does not exist."""

    @staticmethod
    def create_module(_spec: ModuleSpec) -> None:
        """The usual module object."""

    @staticmethod
    def exec_module(module) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """Give it every name."""
        complete(module)


class UnwrittenFinder:
    """Finds the modules; the other finders find the existing ones."""

    def find_spec(self, name: str, *args: object) -> ModuleSpec | None:
        """The spec of a module in MODULES."""
        is_replaced = MODULES.get(name)  # noqa: F821 - `pth_line` defines it
        if is_replaced is None:
            return None
        other_finders = (finder for finder in sys.meta_path if finder is not self)
        spec = None
        if not is_replaced:
            specs = (finder.find_spec(name, *args) for finder in other_finders)  # type: ignore[arg-type]
            spec = next((candidate for candidate in specs if candidate is not None), None)
        if spec is None:
            return ModuleSpec(name, EmptyLoader, is_package=True)  # type: ignore[arg-type]
        if spec.loader is not None and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def execute_and_complete(module) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
                execute(module)
                complete(module)

            spec.loader.exec_module = execute_and_complete  # type: ignore[method-assign]
        return spec


if all(type(finder).__name__ != "UnwrittenFinder" for finder in sys.meta_path):
    sys.meta_path.insert(0, UnwrittenFinder())
