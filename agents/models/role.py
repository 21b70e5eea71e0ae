"""Who in the graph is asking a model."""

from __future__ import annotations

from typing import Literal

Role = Literal["planner", "executor", "critic"]
