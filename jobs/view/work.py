"""The work of a job, as its events show it: runs, repairs, critiques, artifacts. Pure.

If the job was restarted from its task, only the events since the restart count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobs.model.events import Event, events_since_restart
from jobs.model.people import person_key
from jobs.model.review import ReviewKind

ARTIFACT_EVENTS = frozenset({"run_finished", "tool_used", "merged"})
"""The kinds of events with artifacts. Files of parallel branches count after their merge."""


def list_approvals(events: Sequence[Event]) -> list[Event]:
    """The events by which persons approved the present work, oldest first, also those of the
    retried job. Empty if the critic decides, or if the last review had another end. The review of
    an upgrade is not about the work."""
    approvals: dict[str, Event] = {}
    upgrades = set[str]()
    for event in _with_approvals_of_parent(events_since_restart(events)):
        person = person_key(event.data.get("person") or event.data.get("by", ""))
        if event.kind == "review_opened" and event.data.get("kind") == ReviewKind.UPGRADE:
            upgrades.add(event.data["review_id"])
        if event.data.get("review_id") in upgrades:
            continue
        match event.kind:
            case "review_opened":
                approvals = {}
            case "voted":
                approvals[person] = event
            case "vote_withdrawn":
                approvals.pop(person, None)
            case "decided" if event.data["action"] == "approve":
                approvals[person] = event
            case "decided":
                approvals = {}
    return list(approvals.values())


def workspaces_of_revisions(events: Sequence[Event]) -> dict[int, str | None]:
    """The digests of the manifests that the revisions of the work left, by their numbers. Null: no
    files. A person's edit belongs to the revision that it edits."""
    verified = (event.data for event in events_since_restart(events) if event.kind == "verified")
    return {data["revision"]: data["workspace"] for data in verified}


def _with_approvals_of_parent(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        yield event
        if event.kind == "submitted":
            for data in event.data.get("approvals", ()):
                yield Event(event.seq, data["at"], "voted", data)


def list_artifacts(events: Sequence[Event]) -> dict[str, dict[str, Any]]:
    """The newest version of each artifact, by name."""
    return {artifact["name"]: artifact for artifact in _all_artifacts(events_since_restart(events))}


def find_artifact(events: Sequence[Event], name: str, digest: str) -> dict[str, Any] | None:
    """A version of an artifact, by its digest, also from before a restart."""
    return next(
        (
            artifact
            for artifact in _all_artifacts(events)
            if (artifact["name"], artifact["digest"]) == (name, digest)
        ),
        None,
    )


def _all_artifacts(events: Sequence[Event]) -> list[dict[str, Any]]:
    return [
        dict(artifact)
        for event in events
        if event.kind in ARTIFACT_EVENTS
        for artifact in event.data.get("artifacts", ())
    ]


def find_run(events: Sequence[Event], number: int) -> Mapping[str, Any] | None:
    """The data of the run with this number."""
    runs = (event.data for event in events_since_restart(events) if event.kind == "run_finished")
    return next((run for run in runs if run["number"] == number), None)


def find_repair(events: Sequence[Event], run_id: str) -> Mapping[str, Any] | None:
    """The data of the repair that led to the successful verification `run_id`."""
    repairs = (event.data for event in events_since_restart(events) if event.kind == "repaired")
    return next((repair for repair in repairs if repair["run"] == run_id), None)


def read_critique(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an event `critiqued` with `runs` and `unmet`. Critiques that Fettle 0.1.0 wrote
    may have `run` and `failed` instead."""
    critique = dict(data)
    run = critique.pop("run", None)
    failed = critique.pop("failed", None) or ()
    runs = [*([] if run is None else [str(run)]), *(critique.get("runs") or ())]
    critique["runs"] = list(dict.fromkeys(runs))
    critique["unmet"] = critique.get("unmet") or [
        {"criterion": text, "location": "", "reason": ""} for text in failed
    ]
    return critique


def unmet_text(unmet: Mapping[str, Any]) -> str:
    """An unmet criterion as one text: the criterion, its location and the reason."""
    location = f" ({unmet['location']})" if unmet["location"] else ""
    reason = f": {unmet['reason']}" if unmet["reason"] else ""
    return f"{unmet['criterion']}{location}{reason}"
