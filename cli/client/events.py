"""The events of a job: their values, and the stream that delivers them over broken connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx
from httpx_sse import EventSource
from pydantic import BaseModel, Field

from api.schemas.event import Event as EventModel
from api.schemas.event import EventHead
from cli.client.answers import AnswerSource, parse_object
from cli.errors import CliError

FINAL = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """`seq` counts from 1 without gaps; `kind` and `data` are as `GET /jobs/{id}/events` says."""

    seq: int
    at: datetime
    kind: str
    data: Mapping[str, Any]

    @property
    def final(self) -> bool:
        """Whether no event can follow."""
        return self.kind in FINAL


class _AnyEvent(EventHead):
    """An event, also of a kind that this release does not know."""

    kind: str
    data: dict[str, Any]


def read_event(source: AnswerSource, text: str) -> ReceivedEvent:
    """An event from its JSON: {seq, at (ISO 8601), kind, data}. Raises NotFettle."""
    parse_object(source, text, _AnyEvent)
    content = parse_object(source, text, EventModel)
    at = datetime.fromisoformat(content["at"])
    return ReceivedEvent(content["seq"], at, content["kind"], content["data"])


Hear = Callable[[Mapping[str, Any]], None]
"""Takes {call, role, part, text, try}, of a run also {command, seconds}: see
`GET /jobs/{id}/events?tokens=true`."""
PATIENCE = 12
"""The failures in a row after which `follow` gives up, which takes about a minute."""
MOST_WAIT_SECONDS = 8.0
SILENCE_SECONDS = 60.0
"""The service sends a comment line more often than this. A stream that is silent for longer is
broken."""
MEDIA_TYPE = "text/event-stream"
PASSING = frozenset({429, 502, 503, 504})


class StreamedText(BaseModel):
    """Output of a model or a run, while it is written."""

    call: str
    role: str
    part: str
    text: str
    attempt: int = Field(alias="try")
    command: str = ""
    seconds: float = 0.0


def follow(
    http: httpx.Client,
    source: AnswerSource,
    after: int,
    sleep: Callable[[float], None],
    trouble: Callable[[httpx.Response | httpx.TransportError], CliError],
    hear: Hear | None = None,
) -> Iterator[ReceivedEvent]:
    """Every event after `after`, each once and in order, to the final one. `source` has the call.

    `hear` is called with the output of models and runs while it is written.
    Raises the exception that `trouble` makes of a refusal, or of a failure that continues.
    """
    failures = 0
    while True:
        failure: httpx.Response | httpx.TransportError | None = None
        try:
            for event in _connection(http, source, after, hear):
                failures = 0
                if event.seq > after:
                    after = event.seq
                    yield event
                if event.final:
                    return
        except httpx.TransportError as broken:
            failure = broken
        except httpx.HTTPStatusError as refused:
            failure = refused.response
            if failure.status_code not in PASSING:
                raise trouble(failure) from None
        failures += 1
        if failure is not None and failures > PATIENCE:
            raise trouble(failure)
        sleep(min(0.1 * 2**failures, MOST_WAIT_SECONDS))


def _connection(
    http: httpx.Client, source: AnswerSource, after: int, hear: Hear | None
) -> Iterator[ReceivedEvent]:
    params = {} if hear is None else {"tokens": "true"}
    headers = {"Accept": MEDIA_TYPE, "Last-Event-ID": str(after)}
    timeout = httpx.Timeout(SILENCE_SECONDS, connect=5.0)
    with http.stream(
        source.method, source.path, params=params, headers=headers, timeout=timeout
    ) as response:
        try:
            if not response.is_success:
                response.read()
                response.raise_for_status()
            if not response.headers.get("content-type", "").startswith(MEDIA_TYPE):
                text = f"is HTTP {response.status_code} without a stream of events"
                raise source.unexpected(text)
            for sent in EventSource(response).iter_sse():
                if sent.event == "tokens":
                    if hear is not None:
                        hear(parse_object(source, sent.data, StreamedText))
                elif sent.id and sent.data:
                    yield read_event(source, sent.data)
        except httpx.DecodingError as error:
            raise source.unexpected(f"cannot be decoded: {error}") from None
