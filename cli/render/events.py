"""The events of a job as parts, for a terminal and for a transcript (pure).

Each family of events has a module of its own.
"""

from __future__ import annotations

from cli.render import job_events, review_events, work_events
from cli.render.evidence import Detail, of_step
from cli.render.parts import Line, Part
from fettle.events import ReceivedEvent

DECISIONS = frozenset({"decided", "voted", "vote_withdrawn"})
"""The kinds of events by which a person decides."""
KINDS_WITH_STEP = frozenset({"step_started", "step_finished", "run_finished"})
"""The kinds of events that name the step in their text."""
_DRAWN = {**job_events.DRAWN, **work_events.DRAWN, **review_events.DRAWN}
SHOWN = _DRAWN.keys()
"""The kinds of event that are shown."""


def parts(event: ReceivedEvent, detail: Detail) -> tuple[Part, ...]:
    """The parts that show an event; none for kinds that only programs need."""
    draw = _DRAWN.get(event.kind)
    drawn = list(draw(event.data, detail)) if draw else []
    if detail.is_full and event.kind in DECISIONS:
        drawn.append(Line("at", event.at.isoformat(timespec="seconds")))
        drawn += review_events.subject_parts(event.data)
    step = event.data.get("step")
    return tuple(drawn if step is None or event.kind in KINDS_WITH_STEP else of_step(step, drawn))
