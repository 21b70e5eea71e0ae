"""Finds the modules of a project by name, as setuptools' editable installs do. The `.pth` file of a
run executes this text when an interpreter starts.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder

MODULES: dict[str, str]
"""Paths by module name. The `.pth` file defines them before this text."""


class ProjectFinder:
    """Comes before the finder of the module path: the sandbox may have a package of the same name,
    which an installation of the project would replace. It never hides the standard library."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        """The spec of a module of the project. A package without `__init__.py` shares its name with
        others on the module path."""
        path = MODULES.get(name)  # noqa: F821 - `pth_line` defines it
        if path is None or name in sys.stdlib_module_names:
            return None
        folder, _slash, last = path.rpartition("/")
        if last != name.rpartition(".")[2]:
            from importlib.util import spec_from_file_location  # noqa: PLC0415 - rare, and slow

            init = f"{path}/__init__.py"
            return spec_from_file_location(name, init, submodule_search_locations=[path])
        spec = PathFinder.find_spec(name, [folder])
        if spec is None or spec.loader is not None:
            return spec
        second = PathFinder.find_spec(name)
        folders = [] if second is None or second.loader else second.submodule_search_locations
        shared = ModuleSpec(name, None, is_package=True)
        shared.submodule_search_locations = list(dict.fromkeys([path, *(folders or ())]))
        return shared


if all(type(finder).__name__ != "ProjectFinder" for finder in sys.meta_path):
    sys.meta_path.insert(0, ProjectFinder())
