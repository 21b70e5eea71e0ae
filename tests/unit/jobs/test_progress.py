"""The progress of a plan, computed from its events alone."""

from __future__ import annotations

from jobs.model.events import Event
from jobs.view.work import progress_of_steps

PLANNED = ("planned", {"steps": ["a", "b", "c"]})


def progress_of(*facts: tuple[str, dict[str, object]]) -> list[str] | None:
    events = [Event(seq, seq, kind, data) for seq, (kind, data) in enumerate(facts, start=1)]
    steps = progress_of_steps(events)
    return None if steps is None else [str(step) for step in steps]


def step(kind: str, number: int) -> tuple[str, dict[str, object]]:
    return f"step_{kind}", {"step": number, "revision": 1}


def test_without_events_the_progress_is_unknown():
    assert progress_of() is None
    assert progress_of(PLANNED, ("succeeded", {"approved_by": "critic"})) is None


def test_steps_start_and_end_and_may_start_again():
    assert progress_of(PLANNED, step("started", 1)) == ["begun", "todo", "todo"]
    moved = (PLANNED, step("started", 1), step("finished", 1), step("started", 3))
    assert progress_of(*moved) == ["done", "todo", "begun"]
    assert progress_of(*moved, step("started", 1)) == ["begun", "todo", "begun"]


def test_a_new_plan_starts_from_its_first_step():
    assert progress_of(PLANNED, step("started", 1), PLANNED) is None
    assert progress_of(PLANNED, step("started", 1), ("begun_anew", {}), PLANNED) is None


def test_an_unknown_step_changes_no_progress():
    assert progress_of(PLANNED, step("started", 4), step("finished", 0)) is None
