"""The work on the steps of a plan, computed from the events of the job alone."""

from __future__ import annotations

from jobs.model.events import Event
from jobs.view.plan_work import StepWork, work_on_steps

PLANNED = ("planned", {"steps": ["a", "b", "c"]})


def progress_of(*facts: tuple[str, dict[str, object]]) -> list[str] | None:
    events = [Event(seq, seq, kind, data) for seq, (kind, data) in enumerate(facts, start=1)]
    steps = work_on_steps(events)
    return None if steps is None else [str(step.progress) for step in steps]


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


def works_at(*facts: tuple[int, str] | tuple[int, str, int]) -> list[StepWork]:
    """The work after these events: time, kind, number of the step."""
    events = [Event(1, 0, *PLANNED)]
    for at, kind, *number in facts:
        events.append(Event(len(events) + 1, at, kind, {"step": number[0]} if number else {}))
    return list(work_on_steps(events) or ())


def times_at(*facts: tuple[int, str] | tuple[int, str, int]) -> list[tuple[int, int | None]]:
    return [(work.worked_ms, work.since) for work in works_at(*facts)]


def test_a_step_takes_the_time_from_its_start_to_its_end():
    first = ((10, "step_started", 1), (40, "step_finished", 1), (40, "step_started", 2))
    assert times_at(*first) == [(30, None), (0, 40), (0, None)]
    assert [work.started_at for work in works_at(*first)] == [10, 40, None]
    again = (*first, (50, "step_started", 1), (55, "step_finished", 1))
    assert times_at(*again) == [(35, None), (0, 40), (0, None)]
    assert works_at(*again)[0].started_at == 10


def test_the_end_of_a_pass_or_of_the_job_ends_the_time_of_its_steps():
    for end in ("answered", "succeeded", "failed", "cancelled"):
        begun = ((10, "step_started", 1), (20, "step_started", 2), (50, end))
        assert times_at(*begun) == [(40, None), (30, None), (0, None)]
        later = (*begun, (60, "review_opened"), (90, "started"))
        assert times_at(*later) == [(40, None), (30, None), (0, None)]


def test_a_wait_for_a_worker_or_a_person_does_not_count():
    for wait in ("given_back", "lease_lost", "review_opened"):
        waits = ((10, "step_started", 2), (30, wait))
        assert times_at(*waits) == [(0, None), (20, None), (0, None)]
        resumed = (*waits, (100, "started"))
        assert times_at(*resumed) == [(0, None), (20, 100), (0, None)]
        assert times_at(*resumed, (105, "step_started", 2), (110, "step_finished", 2))[1] == (
            30,
            None,
        )
        twice = (*waits, (40, "lease_lost"), (100, "started"))
        assert times_at(*twice)[1] == (20, 100)
