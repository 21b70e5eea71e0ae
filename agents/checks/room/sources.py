"""Sources: the checks' Python files, compiled before anything of the workspace can be imported.

From here they are run and never from their files, which a solution could write to: it may have been
imported by the first test before the second is read.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import os
import sys
import types

from _pytest.assertion.rewrite import rewrite_asserts

from agents.checks.room.bindings import Bindings, pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agents.checks.room.bindings import Piece

WORK = "/work"


class Sources:
    """A finder and loader of the checks' own modules, to be the first of `sys.meta_path`."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.paths = frozenset(f"{WORK}/{path}" for path in files)
        self.texts = {f"{WORK}/{path}": files[path] for path in files if path.endswith(".py")}
        self._pieces = {path: _compiled(path, text) for path, text in self.texts.items()}
        self._bindings = Bindings(self.texts.values())
        self._names = dict(_names(files))
        self.loaded: dict[str, types.ModuleType] = {}

    def imported(self) -> list[str]:
        """The modules that the files name in their imports, whole names and their beginnings."""
        found: dict[str, None] = {}
        for text in self.texts.values():
            for node in ast.walk(ast.parse(text)):
                names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
                for name in names:
                    parts = name.split(".")
                    found |= dict.fromkeys(".".join(parts[: i + 1]) for i in range(len(parts)))
        return list(found)

    def codes(self) -> Iterator[types.CodeType]:
        """The code of all files."""
        return (code for pieces in self._pieces.values() for code, *_ in pieces)

    def execute(self, path: str, module: types.ModuleType) -> None:
        """Run a file as `module`."""
        self._bindings.run(self._pieces[path], module)

    def run(self, path: str) -> types.ModuleType:
        """A test module, run now, whatever stands under its name already."""
        name, root = _place(path)
        if root not in sys.path:
            sys.path.insert(0, root)
        spec = self._spec(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = self.loaded[name] = module
        self.execute(path, module)
        return module

    def first(self) -> None:
        """Be asked before all other finders."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        sys.meta_path.insert(0, self)

    def keepers(self) -> list[object]:
        """What must not be exchanged while tests are run; see `seal`."""
        return [self, *self._bindings.keepers()]

    def seen(self) -> list[Mapping[str, object]]:
        """What was noted down of the modules that have been run."""
        return self._bindings.seen()

    def look(self) -> None:
        """Take down what of the checks' own is in another state now."""
        self._bindings.look()

    def replaced(self) -> list[str]:
        """Names of the checks' modules, and in them, under which something else stands."""
        there = {name: sys.modules[name] for name in self._names if name in sys.modules}
        others = [name for name, module in there.items() if module is not self.loaded.get(name)]
        return [*others, *self._bindings.replaced()]

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - the finder's protocol
        target: object = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """See importlib.abc.MetaPathFinder."""
        found = self._names.get(name)
        return None if found is None else self._spec(name, found)

    def create_module(self, spec: object) -> None:
        """See importlib.abc.Loader."""

    def exec_module(self, module: types.ModuleType) -> None:
        """See importlib.abc.Loader."""
        self.loaded[module.__name__] = module
        self.execute(str(module.__file__), module)

    def get_source(self, name: str) -> str | None:
        """See importlib.abc.InspectLoader."""
        return self.texts.get(self._names.get(name, ""))

    def _spec(self, name: str, path: str) -> importlib.machinery.ModuleSpec:
        package = [os.path.dirname(path)] if path.endswith("/__init__.py") else None  # noqa: PTH120
        spec = importlib.util.spec_from_file_location(
            name,
            path,
            loader=self,  # type: ignore[arg-type]  # one, but for its base class
            submodule_search_locations=package,
        )
        if spec is None:
            raise ImportError(name)
        return spec


def _compiled(path: str, text: str) -> list[Piece]:
    tree = ast.parse(text, path)
    rewrite_asserts(tree, text.encode(), path)
    return pieces(tree, path)


def _names(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(module, path): under its name from the workspace, and beside it under its own alone."""
    for path in sorted(files, reverse=True):
        stem, dot, _ = path.rpartition(".py")
        if not dot or not path.endswith(".py"):
            continue
        parts = stem.split("/")
        if parts[-1] == "__init__":
            parts = parts[:-1]
        elif f"{'/'.join(parts[:-1])}/__init__.py".lstrip("/") not in files:
            yield parts[-1], f"{WORK}/{path}"
        if parts:
            yield ".".join(parts), f"{WORK}/{path}"


def _place(path: str) -> tuple[str, str]:
    """A test module's name, and the directory from which it has that name: that of the outermost
    package around it.
    """
    directory, _, base = path.rpartition("/")
    parts = [base.removesuffix(".py")]
    while directory != WORK and os.path.isfile(f"{directory}/__init__.py"):  # noqa: PTH113
        directory, _, package = directory.rpartition("/")
        parts.insert(0, package)
    return ".".join(parts), directory
