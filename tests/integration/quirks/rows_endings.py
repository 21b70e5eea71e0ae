"""Rows of this kind; see README.md."""

from __future__ import annotations

from support.quirks.row import Row

ROWS: list[Row] = []
