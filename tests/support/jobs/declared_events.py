"""Compare the data of events with the declarations of their kinds."""

from __future__ import annotations

from collections.abc import Iterable

from api.schemas.event import Event as Described
from jobs.model.event_data import KINDS
from jobs.model.events import Event
from jobs.view.job import render_event


def assert_declared(events: Iterable[Event]) -> None:
    """Fail if an event lacks a declared field or has an undeclared field. A client that was
    generated from the API's description could not read such an event.
    """
    for event in events:
        Described.model_validate(render_event(event))
        undeclared = event.data.keys() - KINDS[event.kind].__annotations__.keys()
        assert not undeclared, (event.kind, undeclared)
