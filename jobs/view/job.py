"""A job as JSON: the pure projection of its record, its events and what was paid for it.

Times are ISO 8601 in UTC, durations seconds, money decimal strings (null: not known).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from jobs.model.codec import plain_spec
from jobs.model.events import Event, current
from jobs.model.record import JobRecord, Result
from jobs.model.review import Approval
from jobs.model.review_digest import digest_of
from jobs.model.spec import CheckSpec, JobSpec
from jobs.store import Charge
from jobs.transitions.reviews import needed, offered
from jobs.view.critiques import in_one_form
from jobs.view.progress import progress
from jobs.view.queueing import Fleet, why_queued

_NOT_SHOWN = frozenset({"workspace", "conversation_id"})
"""Of a spec: the job's files and its conversation are shown as of the job."""
MAKERS = frozenset({"run_finished", "tool_used", "merged"})
"""Events with artifacts. The files of parallel branches count as they were merged."""


def iso(ms: int | None) -> str | None:
    """A time as 2026-11-21T12:00:00.000Z."""
    if ms is None:
        return None
    text = datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def summary(
    record: JobRecord, charges: Iterable[Charge] = (), now: int = 0, fleet: Fleet | None = None
) -> dict[str, Any]:
    """What a listing shows of a job: its record and costs, without its events.

    `revisions` are counted when it pauses and when it ends.
    """
    paid = _spend(list(charges))
    return {
        "id": record.id,
        "status": str(record.status),
        "task": record.spec.task,
        "conversation_id": record.conversation_id,
        "labels": list(record.spec.labels),
        "priority": str(record.spec.priority),
        "model": record.spec.model,
        "submitted_by": record.submitted_by,
        "person": record.person or record.submitted_by,
        "attempts": record.attempts,
        "open_review": record.review.id if record.review else None,
        "reason": str(record.reason) if record.reason else None,
        "unapproved": record.unapproved,
        "approved_by": record.result.approved_by if record.result else None,
        "kind": str(record.spec.kind),
        "revisions": record.revisions,
        "cost_usd": paid["cost_usd"],
        "known_usd": paid["known_usd"],
        "unpriced_calls": paid.get("unpriced_calls", 0),
        "unreported_calls": paid.get("unreported_calls", 0),
        "review": _waiting(record, now),
        "waits": _waits(record, now),
        "queued": why_queued(record, fleet, now) if fleet else None,
        **_times(record),
    }


def _waiting(record: JobRecord, now: int) -> dict[str, Any] | None:
    """An open review, without what it shows."""
    if (review := record.review) is None:
        return None
    return {
        "id": review.id,
        "kind": str(review.kind),
        "opened_at": iso(review.opened_at),
        "waiting_seconds": max(now - review.opened_at, 0) / 1000,
        "expires_at": iso(review.expires_at),
        "expired": review.expired,
        "approvals": [vote.person or vote.by for vote in review.approvals],
        "approvals_needed": needed(record, review),
    }


def whole(
    record: JobRecord,
    events: Sequence[Event],
    charges: Iterable[Charge],
    now: int,
    fleet: Fleet | None = None,
    *,
    person_delivers: bool = False,
) -> dict[str, Any]:
    """The whole job; `now` is the store's time in ms. `fleet` explains why a job is queued.
    `person_delivers`: see `jobs.transitions.reviews.offered`."""
    made = current(events)
    critiques = [in_one_form(each) for each in _all(made, "critiqued")]
    return {
        "id": record.id,
        "kind": str(record.spec.kind),
        "status": str(record.status),
        "spec": spec(record.spec),
        "conversation_id": record.conversation_id,
        "submitted_by": record.submitted_by,
        "person": record.person or record.submitted_by,
        "request_id": record.request_id,
        "route": _last(made, "routed"),
        "plan": _plan(made),
        "runs": sorted(_all(made, "run_finished"), key=lambda run: run["number"]),
        "repairs": _all(made, "repaired"),
        "critique": critiques[-1] if critiques else None,
        "critiques": critiques,
        "checks": _last(made, "checked"),
        "verification": _last(made, "verified"),
        "decisions": _all(events, "decided"),
        "review": _review(record, person_delivers=person_delivers),
        "result": _result(record.result),
        "artifacts": list(artifacts(made).values()),
        "reason": str(record.reason) if record.reason else None,
        "unapproved": record.unapproved,
        "detail": record.detail,
        "cost": cost(charges),
        "attempts": record.attempts,
        "crashes": record.crashes,
        "retries": record.retries,
        "waits": _waits(record, now),
        "queued": why_queued(record, fleet, now) if fleet else None,
        "last_event": events[-1].seq if events else 0,
        **_times(record),
        "ran_seconds": record.ran(now) / 1000,
    }


def spec(asked: JobSpec) -> dict[str, Any]:
    """The request, as it was made."""
    shown = {name: each for name, each in plain_spec(asked).items() if name not in _NOT_SHOWN}
    return {**shown, "checks": _check_spec(asked.checks)}


def event(fact: Event) -> dict[str, Any]:
    """An event as it goes over the wire."""
    return {"seq": fact.seq, "at": iso(fact.at), "kind": fact.kind, "data": dict(fact.data)}


def artifacts(events: Sequence[Event]) -> dict[str, dict[str, Any]]:
    """The files that runs, tools and merges have made, by name: of each its newest version."""
    found: dict[str, dict[str, Any]] = {}
    for fact in current(events):
        if fact.kind in MAKERS:
            found.update({made["name"]: dict(made) for made in fact.data.get("artifacts", ())})
    return found


def version(events: Sequence[Event], name: str, digest: str) -> dict[str, Any] | None:
    """A version of a file, by its digest: any that a run or a tool has left."""
    makers = (fact for fact in current(events) if fact.kind in MAKERS)
    made = (one for fact in makers for one in fact.data.get("artifacts", ()))
    found = (one for one in made if (one["name"], one["digest"]) == (name, digest))
    return next((dict(one) for one in found), None)


def run(events: Sequence[Event], number: int) -> Mapping[str, Any] | None:
    """The run of this number."""
    runs = (fact.data for fact in current(events) if fact.kind == "run_finished")
    return next((data for data in runs if data["number"] == number), None)


def repair(events: Sequence[Event], run: str) -> Mapping[str, Any] | None:
    """The repair that the run with this id was."""
    repairs = (fact.data for fact in current(events) if fact.kind == "repaired")
    return next((data for data in repairs if data["run"] == run), None)


def cost(charges: Iterable[Charge]) -> dict[str, Any]:
    """What was paid: {roles: {role: spend}, total: spend}.

    A spend is {calls, input_tokens, cached_input_tokens, output_tokens, cost_usd, known_usd}.
    `cost_usd` is null as soon as the cost of one call is not known; `known_usd` adds up the others.
    Then {unpriced_calls, unreported_calls} are added: calls whose price is unknown, and calls whose
    usage was not reported.
    """
    paid = list(charges)
    roles = sorted({charge.role for charge in paid})
    return {
        "roles": {role: _spend([c for c in paid if c.role == role]) for role in roles},
        "total": _spend(paid),
    }


def _spend(charges: Sequence[Charge]) -> dict[str, Any]:
    prices = [charge.cost_usd for charge in charges]
    known = sum((Decimal(price) for price in prices if price is not None), Decimal(0))
    return {
        "calls": len(charges),
        "input_tokens": sum(charge.input_tokens for charge in charges),
        "cached_input_tokens": sum(charge.cached_input_tokens for charge in charges),
        "output_tokens": sum(charge.output_tokens for charge in charges),
        "cost_usd": None if None in prices else f"{known:f}",
        "known_usd": f"{known:f}",
        **_unknown_costs(charges),
    }


def _unknown_costs(charges: Sequence[Charge]) -> dict[str, int]:
    """How many costs are unknown, and why; empty if all are known."""
    unpriced = sum(charge.is_unpriced for charge in charges)
    unreported = sum(charge.is_unreported for charge in charges)
    if not (unpriced or unreported):
        return {}
    return {"unpriced_calls": unpriced, "unreported_calls": unreported}


def _waits(record: JobRecord, now: int) -> dict[str, Any] | None:
    """What the job waits for before its next try, until when, and why."""
    if (wait := record.waits) is None or record.due_at <= now:
        return None
    until = iso(record.due_at)
    return {"on": wait.on, "until": until, "tries": record.retries, "why": wait.why}


def _times(record: JobRecord) -> dict[str, Any]:
    return {
        "created_at": iso(record.created_at),
        "updated_at": iso(record.updated_at),
        "started_at": iso(record.started_at),
        "finished_at": iso(record.finished_at),
    }


def _review(record: JobRecord, *, person_delivers: bool) -> dict[str, Any] | None:
    review = record.review
    if review is None:
        return None
    return {
        "id": review.id,
        "kind": str(review.kind),
        "opened_at": iso(review.opened_at),
        "expires_at": iso(review.expires_at),
        "expired": review.expired,
        "digest": digest_of(review),
        "actions": list(map(str, offered(record, review, person_delivers=person_delivers))),
        "approvals": [_approval(vote) for vote in review.approvals],
        "approvals_needed": needed(record, review),
        "payload": dict(review.payload),
    }


def _approval(vote: Approval) -> dict[str, Any]:
    return {
        "by": vote.by,
        "person": vote.person or vote.by,
        "at": iso(vote.at),
        "override": vote.override,
    }


def _result(result: Result | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "answer": result.answer,
        "approved_by": result.approved_by,
        "override": result.override,
        "checks": dict(result.checks) if result.checks else None,
        "verification": dict(result.verification) if result.verification else None,
        "artifacts": [dict(artifact) for artifact in result.artifacts],
        "patch": asdict(result.patch) if result.patch else None,
        "bundle": result.bundle,
        "delivery": asdict(result.delivery) if result.delivery else None,
    }


def _check_spec(asked: CheckSpec | None) -> dict[str, Any] | None:
    if asked is None:
        return None
    return {"files": list(asked.paths), "command": asked.command, "cases": list(asked.cases)}


def _all(events: Iterable[Event], kind: str) -> list[dict[str, Any]]:
    return [{**fact.data, "at": iso(fact.at)} for fact in events if fact.kind == kind]


def _plan(events: Sequence[Event]) -> dict[str, Any] | None:
    """The plan, and how far its steps have come, where that is known."""
    plan = _last(events, "planned")
    if plan is None:
        return None
    makers = progress(events)
    return {**plan, "progress": None if makers is None else [str(each) for each in makers]}


def _last(events: Sequence[Event], kind: str) -> dict[str, Any] | None:
    found = _all(events, kind)
    return found[-1] if found else None
