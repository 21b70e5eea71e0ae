"""Statistics as JSON and as tables: the pure projection of the days' counts.

Money is decimal strings in dollars, durations are seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from jobs.counting import PER_DOLLAR, WAITS
from jobs.transitions.change import Counts

QUANTILES = (0.5, 0.9, 0.95)
ENDS = ("succeeded", "failed", "cancelled")
SUCCESS = ("straight", "repaired", "unapproved")
Row = dict[str, Any]


def whole(days: Mapping[str, Counts], standing: Mapping[str, int]) -> dict[str, Any]:
    """All of it over `days`, by day; `standing` is how many jobs are in each state now."""
    total = Counter[str]()
    for counts in days.values():
        total.update(counts)
    return {
        "now": dict(standing),
        "days": by_day(days),
        "reasons": _part(total, "reason"),
        "approved_by": _part(total, "approved"),
        "success": {each: total[f"success|{each}"] for each in SUCCESS},
        "revisions": revisions(total),
        "runs": {each: total[f"runs|{each}"] for each in ("succeeded", "failed")},
        "failures": failures(total),
        "models": _models(total),
        "cost": cost_by_day(days),
        "waits": waits(total),
        "decisions": _part(total, "decided"),
        "stages": stages(total),
    }


def table(name: str, days: Mapping[str, Counts]) -> list[Row]:
    """One of TABLES, as rows with the same columns each."""
    total = Counter[str]()
    for counts in days.values():
        total.update(counts)
    match name:
        case "days":
            return by_day(days)
        case "cost":
            return cost_by_day(days)
        case "revisions":
            return revisions(total)
        case "failures":
            return failures(total)
        case "reasons":
            return reasons(total)
        case "waits":
            return waits(total)["buckets"]  # type: ignore[no-any-return]
        case "stages":
            return stages(total)
    raise ValueError(f"there is no table {name}")


TABLES = ("days", "cost", "revisions", "failures", "reasons", "waits", "stages")


def by_day(days: Mapping[str, Counts]) -> list[Row]:
    """Jobs by how they ended, what the successes were, and cost; a row a day."""
    return [
        {
            "day": day,
            **{end: counts.get(f"ended|{end}", 0) for end in ENDS},
            **{each: counts.get(f"success|{each}", 0) for each in SUCCESS},
            "decisions": sum(_part(counts, "decided").values()),
            "cost_usd": dollars(sum(_part(counts, "cost").values())),
            "unpriced_calls": sum(_part(counts, "unpriced").values()),
            "unreported_calls": sum(_part(counts, "unreported").values()),
        }
        for day, counts in days.items()
    ]


def cost_by_day(days: Mapping[str, Counts]) -> list[Row]:
    """A row a day and model that was asked on it."""
    return [{"day": day, **row} for day, counts in days.items() for row in _models(counts)]


def revisions(counts: Counts) -> list[Row]:
    """Jobs by passes of the executor; the last number stands for more, too."""
    found = {int(number): jobs for number, jobs in _part(counts, "revisions").items()}
    return [{"revisions": number, "jobs": found[number]} for number in sorted(found)]


def failures(counts: Counts) -> list[Row]:
    """Failed runs by class, the most frequent first."""
    found = _part(counts, "failure")
    return [{"class": name, "runs": found[name]} for name in _by_count(found)]


def reasons(counts: Counts) -> list[Row]:
    """Failed jobs by reason, the most frequent first."""
    found = _part(counts, "reason")
    return [{"reason": name, "jobs": found[name]} for name in _by_count(found)]


def waits(counts: Counts) -> dict[str, Any]:
    """How long reviews had waited when they were decided: a histogram and its quantiles."""
    found = {int(bucket): count for bucket, count in _part(counts, "wait").items()}
    tally = [found.get(bucket, 0) for bucket in range(len(WAITS) + 1)]
    number = sum(tally)
    bounds: list[int | None] = [*WAITS, None]
    return {
        "count": number,
        "mean_seconds": counts.get("wait_ms", 0) / 1000 / number if number else None,
        **{f"p{round(q * 100)}_seconds": _quantile(tally, q) for q in QUANTILES},
        "buckets": [
            {"up_to_seconds": bound, "reviews": count}
            for bound, count in zip(bounds, tally, strict=True)
        ],
    }


def stages(counts: Counts) -> list[Row]:
    """Time by stage, the longest first: of all jobs, and of one that had it."""
    spent, jobs = _part(counts, "stage_ms"), _part(counts, "stage_jobs")
    return [
        {
            "stage": stage,
            "jobs": jobs.get(stage, 0),
            "seconds": spent[stage] / 1000,
            "mean_seconds": spent[stage] / 1000 / max(jobs.get(stage, 0), 1),
        }
        for stage in sorted(spent, key=lambda name: (-spent[name], name))
    ]


def dollars(count: int) -> str:
    """An exact sum, as it is counted, as a decimal string."""
    return f"{(Decimal(count) / PER_DOLLAR).normalize():f}"


def _models(counts: Counts) -> list[Row]:
    calls, cost = _part(counts, "calls"), _part(counts, "cost")
    unpriced, unreported = _part(counts, "unpriced"), _part(counts, "unreported")
    taken, given = _part(counts, "input"), _part(counts, "output")
    return [
        {
            "model": model,
            "calls": calls[model],
            "unpriced_calls": unpriced.get(model, 0),
            "unreported_calls": unreported.get(model, 0),
            "input_tokens": taken.get(model, 0),
            "output_tokens": given.get(model, 0),
            "cost_usd": dollars(cost.get(model, 0)),
        }
        for model in sorted(calls)
    ]


def _part(counts: Counts, name: str) -> dict[str, int]:
    """The counts whose names begin with this part, by what follows."""
    begin = f"{name}|"
    return {
        each.removeprefix(begin): count
        for each, count in counts.items()
        if each.startswith(begin) and count
    }


def _by_count(found: Mapping[str, int]) -> list[str]:
    return sorted(found, key=lambda name: (-found[name], name))


def _quantile(tally: Sequence[int], share: float) -> float | None:
    """By even spread within its bucket; the last bucket has no end, so it tells where it begins."""
    wanted, seen = share * sum(tally), 0
    if not wanted:
        return None
    for bucket, count in enumerate(tally):
        if count and seen + count >= wanted:
            begin = WAITS[bucket - 1] if bucket else 0
            end = WAITS[bucket] if bucket < len(WAITS) else begin
            return begin + (end - begin) * (wanted - seen) / count
        seen += count
    return float(WAITS[-1])
