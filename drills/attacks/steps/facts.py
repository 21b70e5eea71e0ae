"""Runs that write down what they are, as JSON, for the host to compare."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drills.attacks.outcome import Observation

FILE = "facts.json"


def facts(seen: Observation) -> dict[str, Any]:
    """What one run has written. Raises ValueError where it has not."""
    data = seen.result.changed.get(FILE)
    if data is None:
        raise ValueError(f"the run wrote no facts: {seen.result.end} {seen.report}")
    told: dict[str, Any] = json.loads(data)
    return told


def note(told: dict[str, Any]) -> None:
    """In a probe: write them."""
    import json

    with open("facts.json", "w") as file:
        json.dump(told, file)
