"""The layout of the packages: no import cycle, and no folder that takes long to read."""

from __future__ import annotations

import tomllib
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

TOP = Path(__file__).resolve().parents[3]
MOST_MODULES = 15
PACKAGES = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"][
    "root_packages"
]


def test_no_import_leads_back_to_its_module() -> None:
    """Imports for type checkers count, too. The error names a cycle."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    TopologicalSorter(
        {each: graph.find_modules_directly_imported_by(each) for each in graph.modules}
    ).prepare()


def test_every_folder_of_a_package_can_be_taken_in_at_a_glance() -> None:
    modules = (path for package in PACKAGES for path in (TOP / package).rglob("*.py"))
    folders = Counter(str(path.parent.relative_to(TOP)) for path in modules)
    assert {name: many for name, many in folders.items() if many > MOST_MODULES} == {}
