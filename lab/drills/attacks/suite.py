"""The suite: every attack, found by the module of its category."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from types import ModuleType

from lab.drills.attacks.attack import Attack

CATEGORIES = ("resources", "hostdata", "network", "kernel", "artifacts", "across", "protocol")
"""The categories: each is a module, or a package with a module for each theme."""


def attacks(only: Iterable[str] = ()) -> Mapping[str, Attack]:
    """Attacks by `category/name`, in order. `only` are globs; an attack must match one of them."""
    globs = tuple(only)
    selected: dict[str, Attack] = {}
    for category in CATEGORIES:
        members = sorted(member for module in _modules(category) for member in _attacks(module))
        for own_name, attack in members:
            name = f"{category}/{own_name}"
            if name in selected:
                raise ValueError(f"two attacks are called {name}")
            if not globs or any(fnmatch(name, glob) for glob in globs):
                selected[name] = attack
    return selected


def _attacks(module: ModuleType) -> Iterator[tuple[str, Attack]]:
    return ((name, member) for name, member in vars(module).items() if isinstance(member, Attack))


def _modules(category: str) -> Iterator[ModuleType]:
    package = importlib.import_module(f"{__package__}.catalogue.{category}")
    yield package
    for submodule in pkgutil.iter_modules(getattr(package, "__path__", ())):
        yield importlib.import_module(f"{package.__name__}.{submodule.name}")
