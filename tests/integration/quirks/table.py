"""All rows: `rows_*.py` has the rows of one kind, `reports_*.py` further rows from public
reports.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.quirks.row import Row


def _rows_of(module: str) -> Sequence[Row]:
    rows: Sequence[Row] = importlib.import_module(f"integration.quirks.{module}").ROWS
    return rows


_MODULES = sorted(path.stem for path in Path(__file__).parent.glob("r*s_*.py"))
_ALL = [row for module in _MODULES for row in _rows_of(module)]
ROWS: Mapping[str, Row] = {row.id: row for row in _ALL}
"""All rows by their ids."""
REPEATED = sorted({row.id for row in _ALL if ROWS[row.id] is not row})
"""The ids that several rows have; it must be empty."""
