"""The layout of the packages: no import cycle."""

from __future__ import annotations

import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

TOP = Path(__file__).resolve().parents[3]
PACKAGES = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"][
    "root_packages"
]


def test_no_import_leads_back_to_its_module() -> None:
    """Imports for type checkers count, too. The error names a cycle."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    ).prepare()
