"""Counting: the counts that a change of a job adds to its tenant's day, in the same atomic step. Pure.

A day (UTC) is a flat table of counts by name, the parts of a name joined by "|":

| name | counts |
|---|---|
| ended|STATUS | jobs by status at the end; reason|REASON failed jobs |
| approved|critic/rules/person/nobody | jobs that succeeded, by approver |
| success|straight/repaired | approved jobs, without and with a run that had failed |
| success|overridden | jobs with an approval that overrode their evidence |
| success|unapproved | jobs that succeeded without approval, because their request allows it |
| verified|STATUS | verifications, which have no other count |
| exercised|STATUS, exercises_cost | exercises of benchmarks, and their cost; no other count |
| revisions|N | jobs by passes of the executor, MANY and more together |
| difficulty|LEVEL, difficulty_approved|LEVEL | jobs that the router sent to a model, by difficulty |
| difficulty_cost|LEVEL | their cost, as cost|MODEL |
| runs|succeeded/failed, failure|CLASS | runs, and the classes of their failures |
| calls|MODEL, unpriced|MODEL, unreported|MODEL | model calls, those with no known price, with no usage |
| input|MODEL, output|MODEL | tokens |
| cost|MODEL | billionths of a thousandth of a dollar (1e-12): exact, as whole numbers |
| stage_ms|STAGE, stage_jobs|STAGE | time spent in a stage, and how many jobs had it |
| decided|ACTION, wait|BUCKET, wait_ms | decisions, and how long their reviews had waited |
"""  # noqa: E501 - a table

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from jobs.model.events import Event, events_since_restart
from jobs.model.record import JobRecord, Status
from jobs.model.spec import JobKind
from jobs.store import Charge
from jobs.transitions.change import Change, Counts

DAYS_KEPT = 400
UNITS_PER_DOLLAR = Decimal(10) ** 12
MAX_REVISIONS = 10
WAIT_BUCKETS = (
    10,
    30,
    60,
    120,
    300,
    600,
    1_800,
    3_600,
    7_200,
    14_400,
    28_800,
    86_400,
    172_800,
    604_800,
)
"""The upper bounds of the buckets of waiting times, in seconds. A last bucket has longer times."""


def count_change(
    before: JobRecord, change: Change, events: Sequence[Event], charges: Iterable[Charge]
) -> Counts:
    """The counts that a change adds. `events` and `charges` are all of the job; they count only if
    the change ends it."""
    counts: Counter[str] = Counter()
    for event in change.events:
        if event.kind == "decided" and before.review is not None:
            counts.update(
                _count_decision(event.data, change.after.updated_at - before.review.opened_at)
            )
    if change.after.spec.kind is not JobKind.TASK:
        return _count_other(change.after, charges) if change.after.status.final else {}
    if change.after.status.final:
        attempt_events = events_since_restart(_events_of_attempts(events))
        counts.update(_count_end(change.after))
        counts.update(_count_work(change.after, attempt_events))
        spent = count_charges(charges)
        counts.update(spent)
        counts.update(_count_difficulty(change.after, events, spent))
        for stage, ms in _stage_times(change.after, attempt_events).items():
            counts.update({f"stage_ms|{stage}": ms, f"stage_jobs|{stage}": 1})
    return counts


def count_passes(events: Iterable[Event]) -> int:
    """The passes of the executor, each of which is a revision."""
    return max((event.data.get("revision") or 0 for event in events), default=0)


def _count_decision(data: Mapping[str, Any], waited_ms: int) -> Counts:
    bucket = bisect_left(WAIT_BUCKETS, waited_ms / 1000)
    return {f"decided|{data['action']}": 1, f"wait|{bucket}": 1, "wait_ms": max(waited_ms, 0)}


def _events_of_attempts(events: Sequence[Event]) -> Sequence[Event]:
    """The events without those that a retry inherits from its parent, because the parent has
    counted them."""
    starts = (position for position, event in enumerate(events) if event.kind == "started")
    return events[next(starts, len(events)) :]


def _count_other(after: JobRecord, charges: Iterable[Charge]) -> Counts:
    """The counts of the end of a job that is not a task of a user."""
    match after.spec.kind:
        case JobKind.VERIFICATION:
            return {f"verified|{after.status}": 1}
        case JobKind.EXERCISE:
            spent = count_charges(charges)
            cost = sum(count for name, count in spent.items() if name.startswith("cost|"))
            return {f"exercised|{after.status}": 1, "exercises_cost": cost}
        case _:
            return {}


def _count_end(after: JobRecord) -> Counts:
    counts = {f"ended|{after.status}": 1}
    if after.reason is not None:
        counts[f"reason|{after.reason}"] = 1
    if after.status is Status.SUCCEEDED and after.result is not None:
        by = after.result.approved_by
        approver = "nobody" if by is None else by if by in ("critic", "rules") else "person"
        counts[f"approved|{approver}"] = 1
    return counts


def _count_work(after: JobRecord, events: Sequence[Event]) -> Counts:
    counts: Counter[str] = Counter()
    runs = [event.data for event in events if event.kind == "run_finished"]
    for run in runs:
        counts["runs|succeeded" if run.get("succeeded") else "runs|failed"] += 1
        if not run.get("succeeded"):
            counts[f"failure|{(run.get('failure') or {}).get('class', 'unknown')}"] += 1
    if revisions := count_passes(events):
        counts[f"revisions|{min(revisions, MAX_REVISIONS)}"] = 1
    if after.status is Status.SUCCEEDED:
        repaired = any(not run.get("succeeded") for run in runs)
        counts[f"success|{_success_kind(after, repaired=repaired)}"] = 1
    return counts


def _count_difficulty(after: JobRecord, events: Sequence[Event], spent: Counts) -> Counts:
    routed = [event.data["difficulty"] for event in events if event.kind == "routed"]
    if not routed:
        return {}
    is_approved = after.status is Status.SUCCEEDED and not after.unapproved
    cost = sum(count for name, count in spent.items() if name.startswith("cost|"))
    return {
        f"difficulty|{routed[-1]}": 1,
        f"difficulty_approved|{routed[-1]}": int(is_approved),
        f"difficulty_cost|{routed[-1]}": cost,
    }


def _success_kind(after: JobRecord, *, repaired: bool) -> str:
    if after.unapproved:
        return "unapproved"
    if after.override:
        return "overridden"
    return "repaired" if repaired else "straight"


def count_charges(charges: Iterable[Charge]) -> Counts:
    """The counts of model calls: of a job that ends, and of a call that was still in flight at the
    end."""
    counts: Counter[str] = Counter()
    for charge in charges:
        model = charge.model
        counts[f"calls|{model}"] += 1
        counts[f"input|{model}"] += charge.input_tokens
        counts[f"output|{model}"] += charge.output_tokens
        if charge.is_unreported:
            counts[f"unreported|{model}"] += 1
        elif charge.cost_usd is None:
            counts[f"unpriced|{model}"] += 1
        else:
            counts[f"cost|{model}"] += int(
                (Decimal(charge.cost_usd) * UNITS_PER_DOLLAR).to_integral()
            )
    return counts


def average_cost(days: Iterable[Counts]) -> tuple[int, int]:
    """The average cost of a job on these days: billionths of a dollar, and tokens. 0: unknown."""
    sums: Counter[str] = Counter()
    for counts in days:
        for name, count in counts.items():
            sums[name.partition("|")[0]] += count
    jobs = sums["ended"]
    if not jobs:
        return 0, 0
    return sums["cost"] // (1_000 * jobs), (sums["input"] + sums["output"]) // jobs


def _stage_times(after: JobRecord, events: Sequence[Event]) -> dict[str, int]:
    """Milliseconds by stage: waiting for a worker, the calls of each role, runs, reviews, and the
    total."""
    spent: Counter[str] = Counter()
    if after.started_at is not None:
        spent["queue"] = after.started_at - after.created_at
    opened: int | None = None
    for event in events:
        if event.kind == "model_called":
            spent[str(event.data.get("role"))] += _ms(event)
        elif event.kind == "run_finished":
            spent["run"] += _ms(event)
        elif event.kind == "review_opened":
            opened = event.at
        elif event.kind == "decided" and opened is not None:
            spent["review"] += event.at - opened
            opened = None
    spent["whole"] = after.updated_at - after.created_at
    return dict(spent)


def _ms(event: Event) -> int:
    # an event of another release may lack the field; the job's end must not fail
    return round((event.data.get("seconds") or 0) * 1000)


def day_of(ms: int) -> str:
    """The day (UTC) of a time."""
    return datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()
