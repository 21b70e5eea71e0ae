"""Whether events tell what their kind declares: no less, and nothing that is not declared."""

from __future__ import annotations

from collections.abc import Iterable

from api.schemas.event import Event as Described
from jobs.model.event_data import KINDS
from jobs.model.events import Event
from jobs.view.job import render_event


def as_declared(events: Iterable[Event]) -> None:
    """Fails where one does not: a client made of the API's description could not read it."""
    for event in events:
        Described.model_validate(render_event(event))
        undeclared = event.data.keys() - KINDS[event.kind].__annotations__.keys()
        assert not undeclared, (event.kind, undeclared)
