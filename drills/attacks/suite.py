"""The suite: every attack there is, found by where it lies."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch

from drills.attacks.attack import Attack

CATEGORIES = ("resources", "hostdata", "network", "kernel", "artifacts", "across", "protocol")
_HERE = __package__


def attacks(only: Iterable[str] = ()) -> Mapping[str, Attack]:
    """Attacks by `category/name`, in order; `only`: globs, of which one must fit."""
    wanted = tuple(only)
    found: dict[str, Attack] = {}
    for category in CATEGORIES:
        package = importlib.import_module(f"{_HERE}.{category}")
        for each in sorted(pkgutil.iter_modules(package.__path__), key=lambda each: each.name):
            name = f"{category}/{each.name}"
            if not wanted or any(fnmatch(name, glob) for glob in wanted):
                found[name] = importlib.import_module(f"{_HERE}.{category}.{each.name}").ATTACK
    return found


def tries(name: str) -> str:
    """What an attack tries: the first line of its module's docstring."""
    module = importlib.import_module(f"{_HERE}.{name.replace('/', '.')}")
    return (module.__doc__ or "").strip().partition("\n")[0]
