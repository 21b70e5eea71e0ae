"""Live updates of a job's page, as server-sent events.

`timeline` has new events as list items, with the event's number as the stream's id, so that a
browser that reconnects names its last one. Each region of the page is sent under its own name when
it has changed. `tokens` is the output of models and runs, see `api.http.event_stream`; the lines of
a run are HTML. A browser that reconnects gets all regions, and ignores those that have not changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.sse import format_sse_event

from api.http.event_stream import HEARTBEAT, Tokens, next_events, stream_response, with_tokens
from api.http.foreign_text import visible
from api.pages.format import job_view
from api.pages.format.job_view import JobStory
from api.pages.format.untrusted import printed
from api.pages.rendering import render_template
from api.pages.visitor import Reader, Visitor, find_visitor
from api.schemas import patterns
from api.services import Services, ServicesDep, queue_state
from jobs.model.events import WORK

router = APIRouter()

PACE_SECONDS = 0.8
"""The shortest time between two renderings of the regions while the job runs."""
DRAWING_PART = 0.05
"""The largest part of the time that one open page may spend on rendering its regions."""


@router.get("/jobs/{job_id}/live")
async def live(
    job_id: str,
    request: Request,
    services: ServicesDep,
    visitor: Reader,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    last_event_id: Annotated[str | None, Header(pattern=patterns.LAST_EVENT_ID)] = None,
) -> Response:
    """The stream; it ends after the final event, or soon after the session or its key ends."""
    story = await job_view.load_story(services, visitor, job_id)
    services.streams.check(visitor.credential.id)
    start = min(max(after, int(last_event_id or 0)), story.last)
    base_url = str(request.base_url).rstrip("/")

    async def has_access() -> bool:
        return await find_visitor(request, services) is not None

    updates = _Updates(services, visitor, story, start, base_url).follow()
    chunks = with_tokens(services, job_id, updates, _render_tokens)
    return stream_response(request, services, visitor.credential.id, chunks, has_access)


def _render_tokens(tokens: Tokens) -> Tokens:
    """A run in progress: its lines in the form of a finished output, and its command without
    hidden characters."""
    if tokens["part"] != "output":
        return tokens
    return {**tokens, "html": printed(tokens["text"]), "command": visible(tokens["command"])}


class _Updates:
    """One open page."""

    def __init__(
        self,
        services: Services,
        visitor: Visitor,
        story: JobStory,
        after: int,
        base_url: str,
    ) -> None:
        self._services = services
        self._visitor = visitor
        self._story = story
        self._after = after
        self._base_url = base_url
        self._sent: dict[str, str] = {}

    async def follow(self) -> AsyncIterator[bytes]:
        """All updates until the job ends or the server stops."""
        heartbeat = self._services.settings.stream_heartbeat_seconds
        stale, drawn_at, pace = True, 0.0, PACE_SECONDS
        while not self._services.closing.is_set():
            if missed := self._story.events[self._after :]:
                yield await asyncio.to_thread(self._new)
                self._after = self._story.last
                stale = True
                urgent = any(fact.kind not in WORK for fact in missed)
            else:
                urgent = True
            if stale and (urgent or time.monotonic() - drawn_at > pace):
                started_at = time.monotonic()
                changed = await self._changed()
                stale, drawn_at = False, time.monotonic()
                pace = max(PACE_SECONDS, (drawn_at - started_at) / DRAWING_PART)
                for chunk in changed:
                    yield chunk
                if self._story.record.status.final and self._after == self._story.last:
                    yield format_sse_event(data_str="over", event="end")
                    return
            wait = pace if stale else heartbeat
            if not await self._grow(wait) and not stale:
                yield HEARTBEAT
                stale = True  # changes without an event, such as an expiry, are seen next time

    def _new(self) -> bytes:
        """The events that the page does not have; of very many, the first and the last."""
        record, last = self._story.record, self._story.last
        head, gap, tail = job_view.split_events(self._story.events, self._after)
        runs = job_view.newest_runs(self._story)
        parts = ((head, gap), (tail, None))
        drawings = [
            render_template(
                "timeline.html",
                entries=job_view.timeline_entries(record.id, events, record.created_at, runs),
                gap=left_out,
                job_id=record.id,
            )
            for events, left_out in parts
        ]
        return format_sse_event(data_str="".join(drawings), event="timeline", id=str(last))

    async def _changed(self) -> list[bytes]:
        """The regions that changed since they were sent."""
        loaded = await self._services.store.load(self._story.record.id)
        if loaded is None:
            return []
        charges = await self._services.store.charges(loaded.record.id)
        fleet = await queue_state(self._services, loaded.record)
        self._story = replace(
            self._story, record=loaded.record, charges=charges, now=loaded.now, fleet=fleet
        )
        regions = await asyncio.to_thread(self._regions, self._story)
        changed = {name: html for name, html in regions.items() if self._sent.get(name) != html}
        self._sent.update(changed)
        return [format_sse_event(data_str=str(html), event=name) for name, html in changed.items()]

    def _regions(self, story: JobStory) -> Mapping[str, str]:
        return job_view.render_regions(job_view.page_values(story, self._visitor, self._base_url))

    async def _grow(self, seconds: float) -> bool:
        """Wait for more events; returns whether any arrived."""
        story = self._story
        events = await next_events(self._services, story.record.id, story.last, seconds)
        if events:
            self._story = replace(story, events=[*story.events, *events])
        return bool(events)
