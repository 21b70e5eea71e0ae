"""Retry of a failed or cancelled job, at a person's request. Pure.

A final state never changes (J6), so the retry is a new job. It continues from its parent's
checkpoint with the parent's journal, so that finished calls are not paid for again. The retry of an
unapproved job continues at its end, with new revisions (`worker/resumption.py`). If a person had
rejected the work, or approved it by other or fewer demands than the retry has, the retry starts
from the task. The parent's messages of persons are also messages to the retry, and its authors are
also authors of the retry. The retry names the approvals of work that it only delivers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Unpack

from jobs.model.credentials import is_person
from jobs.model.events import WORK, Event, NewEvent, events_since_restart
from jobs.model.record import RESTART, JobRecord, Reason, Status
from jobs.model.spec import JobSpec
from jobs.transitions import lifecycle
from jobs.transitions.lifecycle import Change, Refusal, Submitter
from jobs.transitions.messages import with_messages
from jobs.transitions.reviews import list_authors
from jobs.view.work import list_approvals


def retry_as_new_job(
    parent: JobRecord,
    events: Sequence[Event],
    job_id: str,
    now: int,
    *,
    spec: JobSpec | None = None,
    **submitter: Unpack[Submitter],
) -> Change | Refusal:
    """A new job that retries `parent`, which has these `events`. `spec`: the terms of the retry;
    None: the parent's spec."""
    if parent.status not in (Status.FAILED, Status.CANCELLED):
        detail = f"the job is {parent.status}: only a failed or cancelled job can be retried"
        return Refusal("not_failed", detail, parent.status)
    spec = replace(spec or parent.spec, retry_of=parent.id, conversation_id=parent.conversation_id)
    authors = list_authors(parent)
    change = lifecycle.submit(
        job_id, parent.tenant, spec, now, authors=authors, retry_of=parent.id, **submitter
    )
    change = with_messages(change, events)
    started = parent.attempts > 0 or parent.inherits is not None
    if parent.cannot_continue or parent.graph == RESTART or not started:
        return change
    approvals = [{**event.data, "at": event.at} for event in list_approvals(events)]
    is_approved = approvals or is_person(parent.result.approved_by if parent.result else None)
    if is_approved and _demands_more(spec, parent.spec):
        return change
    record = replace(
        change.after,
        inherits=parent.id,
        workspace=parent.workspace,
        continues=parent.continues,
        start=parent.start,
        graph=parent.graph,
    )
    # the retry of an unapproved job writes its own summary
    excluded_kinds = {"summarized"} if parent.reason is Reason.UNAPPROVED else set[str]()
    work = (
        NewEvent(f"inherited:{event.seq}", event.kind, event.data)
        for event in events_since_restart(events)
        if event.kind in WORK and event.kind not in excluded_kinds
    )
    submitted, *messages = change.events
    if approvals:
        submitted = replace(submitted, data={**submitted.data, "approvals": approvals})
    return Change(record, (submitted, *messages, *work))


def _demands_more(spec: JobSpec, earlier: JobSpec) -> bool:
    """Whether an approval by the terms of `earlier` may be no approval by the terms of `spec`."""
    has_other_rules = spec.review_rules not in (None, earlier.review_rules)
    return spec.review and (has_other_rules or spec.approvals > earlier.approvals)


def work_event_keys(keys: Iterable[str]) -> list[str]:
    """The keys of events that the graph has made. The retry does not append these events again."""
    return [key for key in keys if "|" in key]
