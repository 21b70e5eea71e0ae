"""Statistics as JSON and as tables, from the counts of days. Pure.

Money is a decimal string in US dollars, durations are seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from jobs.counting import UNITS_PER_DOLLAR, WAIT_BUCKETS
from jobs.transitions.change import Counts

QUANTILES = (0.5, 0.9, 0.95)
ENDS = ("succeeded", "failed", "cancelled")
SUCCESS_KINDS = ("straight", "repaired", "overridden", "unapproved")
Row = dict[str, Any]


def render_stats(days: Mapping[str, Counts], current_counts: Mapping[str, int]) -> dict[str, Any]:
    """All statistics of `days`. `current_counts`: the present number of jobs by status."""
    total = _total(days)
    return {
        "now": dict(current_counts),
        "days": by_day(days),
        "reasons": _counts_of(total, "reason"),
        "approved_by": _counts_of(total, "approved"),
        "success": {kind: total[f"success|{kind}"] for kind in SUCCESS_KINDS},
        "revisions": revisions(total),
        "runs": {end: total[f"runs|{end}"] for end in ("succeeded", "failed")},
        "failures": failures(total),
        "models": _models(total),
        "cost": cost_by_day(days),
        "waits": waits(total),
        "decisions": _counts_of(total, "decided"),
        "stages": stages(total),
        "difficulties": difficulties(total),
        "exercises": {
            "jobs": sum(_counts_of(total, "exercised").values()),
            "cost_usd": format_cost(total["exercises_cost"]),
        },
    }


def _total(days: Mapping[str, Counts]) -> Counts:
    total = Counter[str]()
    for counts in days.values():
        total.update(counts)
    return total


def by_day(days: Mapping[str, Counts]) -> list[Row]:
    """A row for each day: jobs by status at their end, successes by kind, and costs."""
    return [
        {
            "day": day,
            **{end: counts.get(f"ended|{end}", 0) for end in ENDS},
            **{kind: counts.get(f"success|{kind}", 0) for kind in SUCCESS_KINDS},
            "decisions": sum(_counts_of(counts, "decided").values()),
            "cost_usd": format_cost(sum(_counts_of(counts, "cost").values())),
            "unpriced_calls": sum(_counts_of(counts, "unpriced").values()),
            "unreported_calls": sum(_counts_of(counts, "unreported").values()),
        }
        for day, counts in days.items()
    ]


def cost_by_day(days: Mapping[str, Counts]) -> list[Row]:
    """A row for each day and model."""
    return [{"day": day, **row} for day, counts in days.items() for row in _models(counts)]


def revisions(counts: Counts) -> list[Row]:
    """Jobs by passes of the executor. The last row also counts jobs with more passes."""
    jobs_by_number = {int(number): jobs for number, jobs in _counts_of(counts, "revisions").items()}
    return [
        {"revisions": number, "jobs": jobs_by_number[number]} for number in sorted(jobs_by_number)
    ]


def failures(counts: Counts) -> list[Row]:
    """Failed runs by class, the most frequent first."""
    runs_by_class = _counts_of(counts, "failure")
    return [{"class": name, "runs": runs_by_class[name]} for name in _by_count(runs_by_class)]


def reasons(counts: Counts) -> list[Row]:
    """Failed jobs by reason, the most frequent first."""
    jobs_by_reason = _counts_of(counts, "reason")
    return [{"reason": name, "jobs": jobs_by_reason[name]} for name in _by_count(jobs_by_reason)]


def waits(counts: Counts) -> dict[str, Any]:
    """The waiting times of reviews until their decision: a histogram and its quantiles."""
    reviews_by_bucket = {int(bucket): count for bucket, count in _counts_of(counts, "wait").items()}
    tally = [reviews_by_bucket.get(bucket, 0) for bucket in range(len(WAIT_BUCKETS) + 1)]
    total = sum(tally)
    bounds: list[int | None] = [*WAIT_BUCKETS, None]
    return {
        "count": total,
        "mean_seconds": counts.get("wait_ms", 0) / 1000 / total if total else None,
        **{f"p{round(q * 100)}_seconds": _quantile(tally, q) for q in QUANTILES},
        "buckets": [
            {"up_to_seconds": bound, "reviews": count}
            for bound, count in zip(bounds, tally, strict=True)
        ],
    }


def stages(counts: Counts) -> list[Row]:
    """The time by stage, the longest first: the sum, and the mean of the jobs that had the
    stage."""
    spent, jobs = _counts_of(counts, "stage_ms"), _counts_of(counts, "stage_jobs")
    return [
        {
            "stage": stage,
            "jobs": jobs.get(stage, 0),
            "seconds": spent[stage] / 1000,
            "mean_seconds": spent[stage] / 1000 / max(jobs.get(stage, 0), 1),
        }
        for stage in sorted(spent, key=lambda name: (-spent[name], name))
    ]


def difficulties(counts: Counts) -> list[Row]:
    """Jobs by the difficulty that the router saw, with the mean of their costs."""
    jobs, approved = _counts_of(counts, "difficulty"), _counts_of(counts, "difficulty_approved")
    cost = _counts_of(counts, "difficulty_cost")
    return [
        {
            "difficulty": level,
            "jobs": jobs[level],
            "approved": approved.get(level, 0),
            "mean_cost_usd": format_cost(cost.get(level, 0) // jobs[level]),
        }
        for level in ("simple", "medium", "hard")
        if level in jobs
    ]


def savings(models: Sequence[Row], announced: Mapping[str, Any]) -> Row | None:
    """The cost of the tokens of all other models at the price of the strongest model of the
    executor's chain, less their own cost. None: there is no escalation, or a price is unknown.

    `models`: rows of `_models`. Calls of an unknown price are left out. `announced`: the models of
    a worker, see `worker.background.announcement`.
    """
    levels = announced.get("roles", {}).get("executor", ())
    strongest = levels[-1][0] if len(levels) > 1 else None
    offered = {model["name"]: model for model in announced.get("offered", ())}
    prices = [offered.get(strongest, {}).get(name) for name in ("input_usd", "output_usd")]
    if strongest is None or None in prices:
        return None
    input_usd, output_usd = (Decimal(str(price)) / 1_000_000 for price in prices)
    saved = sum(
        row["input_tokens"] * input_usd
        + row["output_tokens"] * output_usd
        - Decimal(row["cost_usd"])
        for row in models
        if row["model"] != strongest and not row["unpriced_calls"]
    )
    return {"model": strongest, "usd": f"{Decimal(saved).normalize():f}"}


def format_cost(count: int) -> str:
    """A counted cost as an exact decimal string."""
    return f"{(Decimal(count) / UNITS_PER_DOLLAR).normalize():f}"


def _models(counts: Counts) -> list[Row]:
    calls, cost = _counts_of(counts, "calls"), _counts_of(counts, "cost")
    unpriced, unreported = _counts_of(counts, "unpriced"), _counts_of(counts, "unreported")
    input_tokens, output_tokens = _counts_of(counts, "input"), _counts_of(counts, "output")
    return [
        {
            "model": model,
            "calls": calls[model],
            "unpriced_calls": unpriced.get(model, 0),
            "unreported_calls": unreported.get(model, 0),
            "input_tokens": input_tokens.get(model, 0),
            "output_tokens": output_tokens.get(model, 0),
            "cost_usd": format_cost(cost.get(model, 0)),
        }
        for model in sorted(calls)
    ]


def _counts_of(counts: Counts, name: str) -> dict[str, int]:
    """The counts with names `name|...`, by the second part."""
    prefix = f"{name}|"
    return {
        full_name.removeprefix(prefix): count
        for full_name, count in counts.items()
        if full_name.startswith(prefix) and count
    }


def _by_count(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


def _quantile(tally: Sequence[int], share: float) -> float | None:
    """The quantile, if the values of a bucket are spread evenly. The last bucket has no end, so its
    start counts."""
    rank, lower_ranks = share * sum(tally), 0
    if not rank:
        return None
    for bucket, count in enumerate(tally):
        if count and lower_ranks + count >= rank:
            start = WAIT_BUCKETS[bucket - 1] if bucket else 0
            end = WAIT_BUCKETS[bucket] if bucket < len(WAIT_BUCKETS) else start
            return start + (end - start) * (rank - lower_ranks) / count
        lower_ranks += count
    return float(WAIT_BUCKETS[-1])


TABLES: Mapping[str, Callable[[Mapping[str, Counts]], list[Row]]] = {
    "days": by_day,
    "cost": cost_by_day,
    "revisions": lambda days: revisions(_total(days)),
    "failures": lambda days: failures(_total(days)),
    "reasons": lambda days: reasons(_total(days)),
    "waits": lambda days: list(waits(_total(days))["buckets"]),
    "stages": lambda days: stages(_total(days)),
    "difficulties": lambda days: difficulties(_total(days)),
}
"""The rows of each table. All rows of a table have the same columns."""
