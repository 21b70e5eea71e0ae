"""Messages of persons to a job."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from api.schemas import patterns
from api.schemas.fields import RequestModel, ResponseModel, Time

MESSAGE_CHARACTERS = 4_000


class MessageRequest(RequestModel):
    """The body of POST /jobs/{id}/messages."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "Round to cents, not to dollars"}]}
    )

    text: str = Field(
        pattern=patterns.SOME_TEXT,
        max_length=MESSAGE_CHARACTERS,
        description="a part of the task from now on",
    )


class UserMessage(ResponseModel):
    """A message to the job."""

    number: int = Field(description="the number among its messages, from 1")
    at: Time
    by: str = Field(description="the name of the key")
    person: str = Field(description="the person of the key")
    text: str
    read_by: list[str] = Field(
        description="the roles whose models have read it; empty in a job that has ended: it had no "
        "effect"
    )
