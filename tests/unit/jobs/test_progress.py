"""How far a plan has come, by its events alone."""

from __future__ import annotations

from jobs.model.events import Event
from jobs.view.work import progress_of_steps

PLANNED = ("planned", {"steps": ["a", "b", "c"]})


def shown(*facts: tuple[str, dict[str, object]]) -> list[str] | None:
    events = [Event(seq, seq, kind, data) for seq, (kind, data) in enumerate(facts, start=1)]
    found = progress_of_steps(events)
    return None if found is None else [str(each) for each in found]


def step(kind: str, number: int) -> tuple[str, dict[str, object]]:
    return f"step_{kind}", {"step": number, "revision": 1}


def test_without_a_word_nothing_is_known():
    assert shown() is None
    assert shown(PLANNED, ("succeeded", {"approved_by": "critic"})) is None


def test_steps_begin_and_end_and_may_begin_again():
    assert shown(PLANNED, step("started", 1)) == ["begun", "todo", "todo"]
    moved = (PLANNED, step("started", 1), step("finished", 1), step("started", 3))
    assert shown(*moved) == ["done", "todo", "begun"]
    assert shown(*moved, step("started", 1)) == ["begun", "todo", "begun"]


def test_a_new_plan_begins_at_the_beginning():
    assert shown(PLANNED, step("started", 1), PLANNED) is None
    assert shown(PLANNED, step("started", 1), ("begun_anew", {}), PLANNED) is None


def test_a_step_that_the_plan_does_not_have_moves_nothing():
    assert shown(PLANNED, step("started", 4), step("finished", 0)) is None
