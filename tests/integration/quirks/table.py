"""All rows, and each of them by its id."""

from __future__ import annotations

from collections.abc import Mapping

from integration.quirks import (
    rows_arguments,
    rows_bodies,
    rows_calls,
    rows_costs,
    rows_endings,
    rows_errors,
    rows_fields,
    rows_forcing,
    rows_parameters,
    rows_text_calls,
    rows_time,
)
from support.quirks.row import Row

_KINDS = (
    rows_forcing,
    rows_fields,
    rows_time,
    rows_parameters,
    rows_calls,
    rows_endings,
    rows_errors,
    rows_bodies,
    rows_costs,
    rows_arguments,
    rows_text_calls,
)
ROWS: Mapping[str, Row] = {row.id: row for kind in _KINDS for row in kind.ROWS}
"""By id. `test_quirks` makes sure that no id is used twice."""
COUNT = sum(len(kind.ROWS) for kind in _KINDS)
