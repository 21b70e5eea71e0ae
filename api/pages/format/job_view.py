"""The values of a job's page: strip, sections, timeline. Pure, except for `load_story`.

A page has regions that change as a whole (`REGIONS`) and a timeline that only grows.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from markupsafe import Markup

from api.auth.caller import keys_of_same_person
from api.pages.format.strip import strip_of
from api.pages.rendering import list_templates, render_template
from api.pages.visitor import Visitor
from api.services import Services, find_job, queue_state
from jobs.model.events import Event, describe_activity, events_since_restart
from jobs.model.people import person_key
from jobs.model.record import JobRecord, Status
from jobs.store import Charge
from jobs.transitions.messages import ADDED
from jobs.transitions.reviews import vote_refusal
from jobs.view.job import format_time, render_job
from jobs.view.queueing import FleetState
from jobs.view.work import read_critique, workspaces_of_revisions

log = structlog.get_logger(__name__)

REGIONS = ("strip", "says", "changes", "evidence", "plan", "status", "files")
FIRST_EVENTS = 20
LAST_EVENTS = 80
EVENTS_PER_CLICK = 200
"""The events that a page shows at first, from the beginning and from the end, and the events that
each click adds in between."""
OPEN_RUNS = 2
"""The newest runs, which the page shows with code and output."""


class EventValues(dict[str, Any]):
    """An event's data for a template. A value that an older release did not record is None."""

    def __missing__(self, _: str) -> None:
        return None


@dataclass(frozen=True, slots=True)
class JobStory:
    """A job, its events and charges as read together."""

    record: JobRecord
    events: Sequence[Event]
    charges: Sequence[Charge]
    now: int
    fleet: FleetState | None = None
    person_delivers: bool = False
    """See `jobs.transitions.reviews.offered_actions`."""
    deleted: frozenset[str] = frozenset()
    """The ids of those jobs that it derives from and that do not exist any more."""
    same_person: Mapping[str, str] = field(default_factory=dict)
    """The identity keys that count as the visitor's person: see `KeyRing.same_person`."""

    @property
    def last(self) -> int:
        """The number of its newest event."""
        return self.events[-1].seq if self.events else 0


async def load_story(services: Services, visitor: Visitor, job_id: str) -> JobStory:
    """The job with its events, if it belongs to the visitor's tenant. Raises RefusedRequest:
    404."""
    loaded = await find_job(services, visitor.credential, job_id)
    events, charges, same_person, fleet, deleted = await asyncio.gather(
        services.store.events(job_id),
        services.store.charges(job_id),
        keys_of_same_person(services, visitor.credential),
        queue_state(services, loaded.record),
        _find_deleted_origins(services, loaded.record),
    )
    return JobStory(
        loaded.record,
        events,
        charges,
        loaded.now,
        fleet,
        services.settings.deliver_needs_review,
        deleted,
        same_person,
    )


async def _find_deleted_origins(services: Services, record: JobRecord) -> frozenset[str]:
    spec = record.spec
    changes = (spec.rebase, record.continues and record.continues.change)
    ids = {spec.retry_of, spec.fork_of, *(change.job_id for change in changes if change)}
    return frozenset([job_id for job_id in ids if job_id and not await services.store.load(job_id)])


def page_values(story: JobStory, visitor: Visitor, base_url: str) -> dict[str, Any]:
    """The values of a job page's templates. `base_url` has no trailing slash."""
    job = render_job(
        story.record,
        story.events,
        story.charges,
        story.now,
        story.fleet,
        person_delivers=story.person_delivers,
    )
    return {
        "visitor": visitor,
        "job": with_optional_values(job),
        "strip": strip_of(job),
        "activity": _activity(story),
        "has_voted": _has_voted(job, visitor),
        "shown_runs": shown_runs(job),
        "barred": _barred(story, visitor),
        "revision": _revision(job),
        "revisions": sorted(workspaces_of_revisions(story.events)),
        "steps": plan_steps(job),
        "deleted": story.deleted,
        "url": f"{base_url}/app/jobs/{story.record.id}",
        "api_url": f"{base_url}/jobs/{story.record.id}",
        "files": story.record.workspace is not None,
    }


def _activity(story: JobStory) -> dict[str, str | None] | None:
    """The present activity of a running job, and its beginning."""
    if story.record.status is not Status.RUNNING or not story.events:
        return None
    newest = next(event for event in reversed(story.events) if event.kind != ADDED)
    return {"text": describe_activity(newest), "since": format_time(newest.at)}


def with_optional_values(job: dict[str, Any]) -> dict[str, Any]:
    """The job for templates, which may read fields that its open review lacks."""
    if job["review"] is None:
        return job
    return {**job, "review": {**job["review"], "payload": EventValues(job["review"]["payload"])}}


def render_regions(values: Mapping[str, Any]) -> dict[str, Markup]:
    """Each region as HTML, with its digest, so that the page can ignore an unchanged one."""
    return {name: _region(name, values) for name in REGIONS}


def timeline_entries(
    job_id: str, events: Sequence[Event], created_at: int, open_runs: frozenset[int] = frozenset()
) -> list[dict[str, Any]]:
    """Events for the timeline's template, each rendered separately."""
    entries = [
        {
            "job_id": job_id,
            "seq": event.seq,
            "at": format_time(event.at),
            "offset": max(event.at - created_at, 0) / 1000,
            "kind": event.kind,
            "data": EventValues(
                read_critique(event.data) if event.kind == "critiqued" else event.data
            ),
            "open": event.kind == "run_finished" and event.data.get("number") in open_runs,
        }
        for event in events
    ]
    return [{**entry, "body": _body(entry)} for entry in entries]


def _body(entry: dict[str, Any]) -> Markup:
    """An event as HTML. If its template cannot render an event, such as another release's, the
    default template does, so that the page does not fail."""
    try:
        return Markup(render_template(_template(entry["kind"]), entry=entry))  # noqa: S704 - a template's
    except Exception:
        log.exception("event not rendered", job_id=entry["job_id"], seq=entry["seq"])
        return Markup(render_template("events/other.html", entry=entry))  # noqa: S704 - a template's


def _template(kind: str) -> str:
    name = f"events/{kind}.html"
    return name if name in list_templates() else "events/other.html"


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that are not shown yet, between two numbers, and the number of runs among them."""

    after: int
    before: int
    runs: int

    @property
    def count(self) -> int:
        """The number of events."""
        return self.before - self.after - 1


def split_events(
    events: Sequence[Event], after: int = 0
) -> tuple[Sequence[Event], Gap | None, Sequence[Event]]:
    """The events above the number `after` that a page shows at first: all, or the first ones, the
    gap, and the last ones."""
    new = events[after:]
    if len(new) <= FIRST_EVENTS + LAST_EVENTS + FIRST_EVENTS:
        return (), None, new
    middle = make_gap(events, after + FIRST_EVENTS, len(events) - LAST_EVENTS + 1)
    return new[:FIRST_EVENTS], middle, new[-LAST_EVENTS:]


def make_gap(events: Sequence[Event], after: int, before: int) -> Gap | None:
    """The gap between two numbers; None if it is empty."""
    if before - after <= 1:
        return None
    runs = sum(event.kind == "run_finished" for event in events[after : before - 1])
    return Gap(after, before, runs)


def newest_runs(story: JobStory) -> frozenset[int]:
    """The numbers of the runs that are shown open; empty if a review shows them."""
    if story.record.review is not None:
        return frozenset()
    numbers = [
        f.data["number"] for f in events_since_restart(story.events) if f.kind == "run_finished"
    ]
    return frozenset(numbers[-OPEN_RUNS:])


def _region(name: str, values: Mapping[str, Any]) -> Markup:
    try:
        html = render_template(f"job_{name}.html", **values)
    except Exception:  # the rest of the page is still useful
        log.exception("region not rendered", job_id=values["job"]["id"], region=name)
        html = render_template("region_lost.html", job=values["job"])
    digest = hashlib.sha256(html.encode()).hexdigest()[:16]
    wrapped = f'<div class="region-body" data-digest="{digest}">{html}</div>'
    return Markup(wrapped)  # noqa: S704 - a template has rendered it


def shown_runs(job: Mapping[str, Any]) -> list[EventValues]:
    """The runs of an open review, the evidence last; without a review the newest run, if the job
    has a run."""
    review = job["review"]
    covered = review["payload"].get("runs") if review and review["kind"] == "review" else None
    return [EventValues(run) for run in covered or job["runs"][-1:]]


def _has_voted(job: Mapping[str, Any], visitor: Visitor) -> bool:
    """Whether the open review has an approval of the visitor."""
    credential = visitor.credential
    person = person_key(credential.person or credential.name)
    votes = job["review"]["approvals"] if job["review"] else ()
    return any(person_key(vote["person"]) == person for vote in votes)


def _barred(story: JobStory, visitor: Visitor) -> str:
    """The reason for which the visitor's approval of the open review would not count; empty if
    it counts."""
    record = story.record
    if record.review is None:
        return ""
    refused = vote_refusal(record, record.review, visitor.credential.name, story.same_person)
    return refused.detail if refused else ""


def _revision(job: Mapping[str, Any]) -> int:
    parts = [*job["runs"], *job["critiques"]]
    return max((part["revision"] for part in parts), default=0)


def plan_steps(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The plan's steps with their times and states: done, doing, begun, todo or unknown."""
    plan = job["plan"] or {"steps": [], "progress": None, "times": None}
    states = plan["progress"] or ["unknown"] * len(plan["steps"])
    times = map(EventValues, plan["times"] or [{}] * len(plan["steps"]))
    working = job["status"] == "running"
    return [
        {"text": text, "state": "doing" if working and state == "begun" else state, "time": time}
        for text, state, time in zip(plan["steps"], states, times, strict=True)
    ]
