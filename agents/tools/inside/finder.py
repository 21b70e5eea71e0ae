"""Finds the modules of a project by name, as setuptools' editable installs do: the `.pth` file of a
run executes this text when an interpreter starts. MODULES is defined before it: places by name.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder

MODULES: dict[str, str] = globals()["MODULES"]


class ProjectFinder:
    """Comes before the finder of the module path: the sandbox may have a package of the same name,
    which an installation of the project would replace. No name hides the standard library's."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        """The spec of a module of the project. A package without `__init__.py` shares its name with
        others on the module path."""
        place = MODULES.get(name)
        if place is None or name in sys.stdlib_module_names:
            return None
        folder, _slash, last = place.rpartition("/")
        if last != name.rpartition(".")[2]:
            from importlib.util import spec_from_file_location  # noqa: PLC0415 - rare, and slow

            init = f"{place}/__init__.py"
            return spec_from_file_location(name, init, submodule_search_locations=[place])
        spec = PathFinder.find_spec(name, [folder])
        if spec is None or spec.loader is not None:
            return spec
        other = PathFinder.find_spec(name)
        others = [] if other is None or other.loader else other.submodule_search_locations
        shared = ModuleSpec(name, None, is_package=True)
        shared.submodule_search_locations = list(dict.fromkeys([place, *(others or ())]))
        return shared


if all(type(each).__name__ != "ProjectFinder" for each in sys.meta_path):
    sys.meta_path.insert(0, ProjectFinder())
