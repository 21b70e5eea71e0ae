"""Progress: how far each step of the plan has come, by its events. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from jobs.model.events import Event, current


class Progress(StrEnum):
    """Of a step. A step without an event of its end stays `begun`."""

    TODO = "todo"
    BEGUN = "begun"
    DONE = "done"


_MOVES = {"step_started": Progress.BEGUN, "step_finished": Progress.DONE}


def progress(events: Sequence[Event]) -> Sequence[Progress] | None:
    """How far each step of the latest plan has come; None while there is no plan, or no event of a
    step."""
    steps: list[Progress] = []
    known = False
    for fact in current(events):
        if fact.kind == "planned":
            steps, known = [Progress.TODO] * len(fact.data["steps"]), False
        elif (moved := _MOVES.get(fact.kind)) and 1 <= fact.data["step"] <= len(steps):
            steps[fact.data["step"] - 1], known = moved, True
    return steps if known else None
