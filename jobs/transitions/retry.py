"""Inheritance: a job that failed or was cancelled, tried anew by intent. Pure.

A final state never changes (J6), so it is a new job. It goes on from the other's checkpoint, with
its journal: what that has paid for is not paid again. One that nobody approved goes on from its
end, with fresh revisions (`worker/resumption.py`). Where a person had turned it down there is
nothing to go on from: then it begins anew. Whose work the other was is its author, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from jobs.model.events import WORK, Event, NewEvent, current
from jobs.model.record import JobRecord, Reason, Status
from jobs.transitions import lifecycle
from jobs.transitions.lifecycle import Change, Refusal
from jobs.transitions.reviews import authors


def retry_as_new_job(
    parent: JobRecord,
    events: Sequence[Event],
    job_id: str,
    now: int,
    *,
    by: str,
    request_id: str = "",
    key_id: str = "",
) -> Change | Refusal:
    """A new job that tries `parent` again; `told` are the parent's events."""
    if parent.status not in (Status.FAILED, Status.CANCELLED):
        detail = f"the job is {parent.status}: only what failed or was cancelled is tried again"
        return Refusal("not_failed", detail, parent.status)
    spec = replace(parent.spec, retry_of=parent.id, conversation_id=parent.conversation_id)
    change = lifecycle.submit(
        job_id, parent.tenant, spec, now, by=by, request_id=request_id, key_id=key_id
    )
    change = replace(change, after=replace(change.after, authors=authors(parent)))
    (submitted,) = change.events
    submitted = replace(submitted, data={**submitted.data, "retry_of": parent.id})
    if parent.over or parent.checkpointed is None:
        return replace(change, events=(submitted,))
    record = replace(
        change.after, inherits=parent.id, workspace=parent.workspace, graph=parent.graph
    )
    left_out = {"summarized"} if parent.reason is Reason.UNAPPROVED else set()  # sums its end up
    work = (
        NewEvent(f"inherited:{event.seq}", event.kind, event.data)
        for event in current(events)
        if event.kind in WORK and event.kind not in left_out
    )
    return Change(record, (submitted, *work))


def of_work(keys: Iterable[str]) -> list[str]:
    """Those keys of events that the graph has made; the heir does not say them again."""
    return [key for key in keys if "|" in key]
