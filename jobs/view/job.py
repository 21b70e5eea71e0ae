"""A job as JSON, from its record, its events and its charges. Pure.

Times are ISO 8601 in UTC, durations are seconds, money is a decimal string (null: unknown).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from jobs.model.codec import spec_to_json
from jobs.model.event_data.reviews import EvidenceData
from jobs.model.events import Event, events_since_restart
from jobs.model.record import Continuation, JobRecord, Result
from jobs.model.review import Approval, Review
from jobs.model.review_digest import digest_review
from jobs.model.spec import CheckSpec, JobSpec
from jobs.store import Charge
from jobs.transitions.reviews import approvals_needed, offered_actions
from jobs.view.messages import list_messages
from jobs.view.plan_work import StepWork, work_on_steps
from jobs.view.queueing import FleetState, explain_queued
from jobs.view.verdict import verdict_of_review
from jobs.view.work import list_approvals, list_artifacts, read_critique

_HIDDEN_FIELDS = frozenset({"workspace", "conversation_id"})
"""The fields of a spec that are left out: the job itself shows its files and its conversation."""


def format_time(ms: int | None) -> str | None:
    """A time as 2026-11-21T12:00:00.000Z."""
    if ms is None:
        return None
    text = datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def render_summary(
    record: JobRecord, charges: Iterable[Charge] = (), now: int = 0, fleet: FleetState | None = None
) -> dict[str, Any]:
    """A job in a listing: its record and its costs, without its events.

    `revisions` are counted when the job pauses and when it ends.
    """
    spending = _spending(list(charges))
    return {
        "id": record.id,
        "status": str(record.status),
        "task": record.spec.task,
        "conversation_id": record.conversation_id,
        "batch_id": record.batch_id or None,
        "labels": list(record.spec.labels),
        "priority": str(record.spec.priority),
        "model": record.spec.model,
        "submitted_by": record.submitted_by,
        "person": record.person or record.submitted_by,
        "attempts": record.attempts,
        "open_review": record.review.id if record.review else None,
        "reason": str(record.reason) if record.reason else None,
        "unapproved": record.unapproved,
        "override": record.override,
        "approved_by": record.result.approved_by if record.result else None,
        "kind": str(record.spec.kind),
        "revisions": record.revisions,
        "cost_usd": spending["cost_usd"],
        "known_usd": spending["known_usd"],
        "unpriced_calls": spending.get("unpriced_calls", 0),
        "unreported_calls": spending.get("unreported_calls", 0),
        "review": _review_summary(record, now),
        "waits": _wait(record, now),
        "queued": explain_queued(record, fleet, now) if fleet else None,
        **_times(record),
    }


def _review_summary(record: JobRecord, now: int) -> dict[str, Any] | None:
    """The open review, without its payload."""
    if (review := record.review) is None:
        return None
    return {
        "id": review.id,
        "kind": str(review.kind),
        "opened_at": format_time(review.opened_at),
        "waiting_seconds": max(now - review.opened_at, 0) / 1000,
        "expires_at": format_time(review.expires_at),
        "expired": review.expired,
        "assignee": record.assignee,
        "approvals": [vote.person or vote.by for vote in review.approvals],
        "approvals_needed": approvals_needed(record, review),
        "verdict": _verdict(review),
    }


def _verdict(review: Review) -> EvidenceData | None:
    verdict = verdict_of_review(review)
    return verdict.to_data() if verdict else None


def render_job(
    record: JobRecord,
    events: Sequence[Event],
    charges: Iterable[Charge],
    now: int,
    fleet: FleetState | None = None,
    *,
    person_delivers: bool = False,
) -> dict[str, Any]:
    """A job with the work that its events show.

    `now` is Redis' time in ms. `fleet` explains why a job is queued. `person_delivers`: see
    `jobs.transitions.reviews.offered_actions`.
    """
    work = events_since_restart(events)
    critiques = [read_critique(data) for data in _all(work, "critiqued")]
    return {
        "id": record.id,
        "kind": str(record.spec.kind),
        "status": str(record.status),
        "spec": render_spec(record.spec),
        "conversation_id": record.conversation_id,
        "batch_id": record.batch_id or None,
        "continues": _continuation(record.continues),
        "submitted_by": record.submitted_by,
        "person": record.person or record.submitted_by,
        "request_id": record.request_id,
        "route": _last(work, "routed"),
        "plan": _plan(work),
        "runs": sorted(_all(work, "run_finished"), key=lambda run: run["number"]),
        "repairs": _all(work, "repaired"),
        "critique": critiques[-1] if critiques else None,
        "critiques": critiques,
        "messages": [
            {**message, "at": format_time(message["at"])} for message in list_messages(events)
        ],
        "checks": _last(work, "checked"),
        "verification": _last(work, "verified"),
        "decisions": _all(events, "decided"),
        "review": _review(record, person_delivers=person_delivers),
        "result": _result(record.result, events),
        "artifacts": list(list_artifacts(work).values()),
        "reason": str(record.reason) if record.reason else None,
        "unapproved": record.unapproved,
        "override": record.override,
        "detail": record.detail,
        "cost": render_cost(charges),
        "attempts": record.attempts,
        "crashes": record.crashes,
        "retries": record.retries,
        "waits": _wait(record, now),
        "queued": explain_queued(record, fleet, now) if fleet else None,
        "last_event": events[-1].seq if events else 0,
        **_times(record),
        "ran_seconds": record.ran(now) / 1000,
    }


def _continuation(start: Continuation | None) -> dict[str, Any] | None:
    if start is None:
        return None
    return {
        "job_id": start.change.job_id,
        "branch": start.branch,
        "target": start.target,
        "merged": start.merged,
        "conflicts": list(start.conflicts),
    }


def render_spec(spec: JobSpec) -> dict[str, Any]:
    """The request of a job."""
    fields = {
        name: value for name, value in spec_to_json(spec).items() if name not in _HIDDEN_FIELDS
    }
    if rules := fields["review_rules"]:
        del rules["owners"]  # groups of persons, perhaps of other tenants
    return {**fields, "checks": _check_spec(spec.checks)}


def render_event(event: Event) -> dict[str, Any]:
    """An event, as the API sends it."""
    at = format_time(event.at)
    return {"seq": event.seq, "at": at, "kind": event.kind, "data": dict(event.data)}


def render_cost(charges: Iterable[Charge]) -> dict[str, Any]:
    """The cost of a job: {roles: {role: spending}, total: spending}.

    A spending is {calls, input_tokens, cached_input_tokens, output_tokens, cost_usd, known_usd}.
    `known_usd` is the sum of the known costs. If the cost of a call is unknown, `cost_usd` is null,
    and {unpriced_calls, unreported_calls} are added: the number of calls with an unknown price, and
    of calls with an unreported usage.
    """
    charges = list(charges)
    roles = sorted({charge.role for charge in charges})
    return {
        "roles": {role: _spending([c for c in charges if c.role == role]) for role in roles},
        "total": _spending(charges),
    }


def _spending(charges: Sequence[Charge]) -> dict[str, Any]:
    prices = [charge.cost_usd for charge in charges]
    known_usd = sum((Decimal(price) for price in prices if price is not None), Decimal(0))
    return {
        "calls": len(charges),
        "input_tokens": sum(charge.input_tokens for charge in charges),
        "cached_input_tokens": sum(charge.cached_input_tokens for charge in charges),
        "output_tokens": sum(charge.output_tokens for charge in charges),
        "cost_usd": None if None in prices else f"{known_usd:f}",
        "known_usd": f"{known_usd:f}",
        **_unknown_costs(charges),
    }


def _unknown_costs(charges: Sequence[Charge]) -> dict[str, int]:
    """The number of unknown costs, by cause; empty if all costs are known."""
    unpriced = sum(charge.is_unpriced for charge in charges)
    unreported = sum(charge.is_unreported for charge in charges)
    if not (unpriced or unreported):
        return {}
    return {"unpriced_calls": unpriced, "unreported_calls": unreported}


def _wait(record: JobRecord, now: int) -> dict[str, Any] | None:
    """The wait before the job's next try, with its cause."""
    if (wait := record.waits) is None or record.due_at <= now:
        return None
    until = format_time(record.due_at)
    return {"on": wait.on, "until": until, "tries": record.retries, "why": wait.why}


def _times(record: JobRecord) -> dict[str, Any]:
    return {
        "created_at": format_time(record.created_at),
        "updated_at": format_time(record.updated_at),
        "started_at": format_time(record.started_at),
        "finished_at": format_time(record.finished_at),
    }


def _review(record: JobRecord, *, person_delivers: bool) -> dict[str, Any] | None:
    review = record.review
    if review is None:
        return None
    return {
        "id": review.id,
        "kind": str(review.kind),
        "opened_at": format_time(review.opened_at),
        "expires_at": format_time(review.expires_at),
        "expired": review.expired,
        "assignee": record.assignee,
        "digest": digest_review(review),
        "actions": list(map(str, offered_actions(record, review, person_delivers=person_delivers))),
        "approvals": [_approval(vote) for vote in review.approvals],
        "approvals_needed": approvals_needed(record, review),
        "verdict": _verdict(review),
        "payload": dict(review.payload),
    }


def _approval(vote: Approval) -> dict[str, Any]:
    return {
        "by": vote.by,
        "person": vote.person or vote.by,
        "at": format_time(vote.at),
        "override": vote.override,
    }


def _past_approval(event: Event) -> dict[str, Any]:
    """An approval of a job's result. Events of older releases have no evidence, and may lack
    fields."""
    data = event.data
    return {
        "by": data["by"],
        "person": data.get("person") or data["by"],
        "at": format_time(event.at),
        "override": data.get("override", False),
        "digest": data.get("digest", ""),
        "feedback": data.get("feedback", ""),
        "evidence": data.get("evidence"),
    }


def _result(result: Result | None, events: Sequence[Event]) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "answer": result.answer,
        "approved_by": result.approved_by,
        "approvals": [_past_approval(event) for event in list_approvals(events)],
        "override": result.override,
        "checks": dict(result.checks) if result.checks else None,
        "verification": dict(result.verification) if result.verification else None,
        "artifacts": [dict(artifact) for artifact in result.artifacts],
        "patch": asdict(result.patch) if result.patch else None,
        "bundle": result.bundle,
        "delivery": asdict(result.delivery) if result.delivery else None,
        "benchmark": dict(result.benchmark) if result.benchmark else None,
    }


def _check_spec(checks: CheckSpec | None) -> dict[str, Any] | None:
    if checks is None:
        return None
    return {"files": list(checks.paths), "command": checks.command, "cases": list(checks.cases)}


def _all(events: Iterable[Event], kind: str) -> list[dict[str, Any]]:
    return [{**event.data, "at": format_time(event.at)} for event in events if event.kind == kind]


def _plan(events: Sequence[Event]) -> dict[str, Any] | None:
    """The plan, with the progress and the times of its steps if they are known."""
    plan = _last(events, "planned")
    if plan is None:
        return None
    steps = work_on_steps(events)
    return {
        **plan,
        "progress": None if steps is None else [str(step.progress) for step in steps],
        "times": None if steps is None else list(map(_step_time, steps)),
    }


def _step_time(step: StepWork) -> dict[str, Any]:
    return {
        "started_at": None if step.started_at is None else format_time(step.started_at),
        "seconds": step.worked_ms / 1000,
        "since": None if step.since is None else format_time(step.since),
    }


def _last(events: Sequence[Event], kind: str) -> dict[str, Any] | None:
    data = _all(events, kind)
    return data[-1] if data else None
