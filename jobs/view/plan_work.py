"""The work on the steps of a plan, as events show it: progress and time of each step. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from jobs.model.events import FINAL_KINDS, Event

_WAITS = frozenset({"review_opened", "given_back", "lease_lost"})
"""After these events the job waits for a person or a worker. `started` ends the wait."""


class Progress(StrEnum):
    """The state of a step. A step without an event of its end stays `begun`."""

    TODO = "todo"
    BEGUN = "begun"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class StepWork:
    """The work on one step. Times are in milliseconds since 1970.

    The time of a step runs from its start to its end, or to the end of the pass. If several steps
    are in progress, the time counts for each of them. A wait for a person or a worker does not
    count.
    """

    progress: Progress = Progress.TODO
    started_at: int | None = None
    """The first start."""
    worked_ms: int = 0
    """The finished time."""
    since: int | None = None
    """The beginning of the present time; None: the job does not work on the step."""
    waits: bool = False
    """Whether the work was interrupted, and goes on when a worker claims the job."""

    def begin(self, at: int) -> StepWork:
        """The work on the step begins, or goes on."""
        return replace(
            self,
            progress=Progress.BEGUN,
            started_at=at if self.started_at is None else self.started_at,
            since=at if self.since is None else self.since,
            waits=False,
        )

    def stop(self, at: int, *, waits: bool = False) -> StepWork:
        """The work on the step stops; `waits`: until a worker claims the job."""
        if self.since is None:
            return replace(self, waits=self.waits and waits)
        worked_ms = self.worked_ms + max(at - self.since, 0)
        return replace(self, worked_ms=worked_ms, since=None, waits=waits)


@dataclass(frozen=True, slots=True)
class PlanWork:
    """The work on all steps of the latest plan."""

    steps: tuple[StepWork, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether there was an event of a step."""
        return any(step.started_at is not None for step in self.steps)

    def after(self, kind: str, data: Mapping[str, Any], at: int) -> PlanWork:
        """The work with one more event, at the time `at`."""
        if kind == "begun_anew":
            return PlanWork()
        if kind == "planned":
            return PlanWork((StepWork(),) * len(data["steps"]))
        if kind == "step_started":
            return self._changed(data["step"], lambda step: step.begin(at))
        if kind == "step_finished":
            return self._changed(
                data["step"],
                lambda step: replace(step.begin(at).stop(at), progress=Progress.DONE),
            )
        if kind == "started":
            return PlanWork(tuple(step.begin(at) if step.waits else step for step in self.steps))
        if kind in _WAITS or kind == "answered" or kind in FINAL_KINDS:
            waits = kind in _WAITS
            return PlanWork(tuple(step.stop(at, waits=waits) for step in self.steps))
        return self

    def _changed(self, number: int, change: Callable[[StepWork], StepWork]) -> PlanWork:
        """The work after a change of the step `number`, counted from 1. The same work if the plan
        has no such step."""
        changed = (
            change(step) if position == number else step
            for position, step in enumerate(self.steps, 1)
        )
        return PlanWork(tuple(changed))


def work_on_steps(events: Sequence[Event]) -> Sequence[StepWork] | None:
    """The work on each step of the latest plan; None without a plan, or without an event of a
    step."""
    work = PlanWork()
    for event in events:
        work = work.after(event.kind, event.data, event.at)
    return work.steps if work.is_known else None
