"""How far Hypothesis' state machines walk."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings


def walks(examples: int, steps: int) -> settings:
    """So many walks of so many steps; the environment's WALKS multiplies them."""
    return settings(
        max_examples=examples * int(os.environ.get("WALKS", "1")),
        stateful_step_count=steps,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
