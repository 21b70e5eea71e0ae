"""Who in the graph is asking a model."""

from __future__ import annotations

from typing import Final, Literal

Role = Literal["planner", "executor", "critic", "tester", "summary", "router"]

LIGHT: Final[frozenset[Role]] = frozenset({"summary", "router"})
"""Roles with short and simple questions: a small model does, where none is named for them."""
