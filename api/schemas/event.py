"""Events in responses. Each kind of event is a model of its own."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, RootModel, create_model

from api.schemas.fields import ResponseModel, Time
from jobs.model.event_data import KINDS


class EventHead(ResponseModel):
    """The common fields of all events."""

    seq: int = Field(description="counts from 1, without gaps")
    at: Time


def _model(kind: str, data: type[Any]) -> type[BaseModel]:
    name = "".join(part.capitalize() for part in kind.split("_"))
    fields: Any = {"kind": (Literal[kind], ...), "data": (data, ...)}
    return create_model(f"{name}Event", __base__=EventHead, __doc__=data.__doc__, **fields)


_ANY: Any = reduce(or_, (_model(kind, data) for kind, data in KINDS.items()))

Event = create_model(
    "Event",
    __base__=RootModel[Annotated[_ANY, Field(discriminator="kind")]],
    __doc__="A past-tense fact about a job; `kind` determines the fields of `data`.",
)
EventList = create_model(
    "EventList",
    __base__=ResponseModel,
    __doc__="The events after a number.",
    events=(list[Event], ...),
    final=(bool, Field(description="whether the last of these is the job's final event")),
)
