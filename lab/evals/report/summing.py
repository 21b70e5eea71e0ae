"""The summary of a file of results. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from statistics import fmean, median
from typing import Any

from lab.evals.report.results import Header, Result, SolutionVerdict
from lab.evals.report.statistics import Rate, pass_at, rate

WRONG = "hidden_tests"
"""The class of a try that ran without failure but did not pass the hidden tests."""


@dataclass(frozen=True, slots=True)
class ResultSummary:
    """`first` and `final` are pass@1 of the first attempts, if these are judged, and of the final
    results.

    `at_k` is pass@k for k from 2 to the number of tries; `failures` counts the reasons why first
    attempts did not pass, `models` the tries in which each answered; money is None if no call was
    paid, or if the price of a call is unknown. Times are medians, in seconds.
    """

    exercises: int
    tries: int
    measured: int
    not_measured: Mapping[str, int]
    first: Rate | None
    final: Rate | None
    levels: Mapping[str, tuple[Rate | None, Rate]]
    at_k: Mapping[int, tuple[float | None, float]]
    score: float | None
    scored: int
    failures: Mapping[str, int]
    models: Mapping[str, int]
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: str | None
    judge_usd: str | None
    job_seconds: float
    worked_seconds: float

    def as_fields(self) -> dict[str, Any]:
        """As plain values, for `--json`."""
        return {
            **asdict(self),
            "levels": {
                level: {"first": first and asdict(first), "final": asdict(final)}
                for level, (first, final) in self.levels.items()
            },
            "at_k": {
                str(k): {"first": first, "final": final} for k, (first, final) in self.at_k.items()
            },
        }


def sum_up(header: Header, results: Sequence[Result]) -> ResultSummary:
    """Summarize all results of a file."""
    measured = [result for result in results if result.measured]
    judged = [result for result in measured if result.final is not None]
    scores = [result.score["score"] for result in measured if result.score]
    return ResultSummary(
        exercises=header.set["exercises"],
        tries=len(results),
        measured=len(measured),
        not_measured=Counter(_kind(result.why_not) for result in results if result.why_not),
        first=_rate(judged, first_of),
        final=_rate(judged, final_of),
        levels=_levels(judged),
        at_k=_at_k(judged),
        score=fmean(scores) if scores else None,
        scored=len(scores),
        failures=dict(Counter(filter(None, map(failure, judged))).most_common()),
        models=dict(Counter(name for result in results for name in result.models).most_common()),
        calls=sum(result.cost.get("calls", 0) for result in results),
        input_tokens=sum(result.cost.get("input_tokens", 0) for result in results),
        output_tokens=sum(result.cost.get("output_tokens", 0) for result in results),
        cost_usd=_money(result.cost.get("cost_usd") for result in results if result.cost),
        judge_usd=_money(result.score.get("cost_usd") for result in results if result.score),
        job_seconds=median([result.job_seconds for result in measured] or [0.0]),
        worked_seconds=median([result.worked_seconds for result in measured] or [0.0]),
    )


def _kind(why_not: str) -> str:
    """Without the details, which are shown exercise by exercise."""
    return why_not.partition(": ")[0]


def first_of(result: Result) -> SolutionVerdict | None:
    """The verdict on the first attempt."""
    return result.first


def final_of(result: Result) -> SolutionVerdict | None:
    """The verdict on the job's final files."""
    return result.final


Which = Callable[[Result], SolutionVerdict | None]


def counted(results: Iterable[Result], which: Which) -> dict[str, tuple[int, int]]:
    """(passed, tried) of each judged exercise."""
    tried: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        if (verdict := which(result)) is not None:
            tried[result.id].append(verdict.passed)
    return {name: (sum(passed), len(passed)) for name, passed in tried.items()}


def failure(result: Result) -> str | None:
    """The reason why the first attempt did not pass: the failure of its own run, else the hidden
    tests.
    """
    if result.first is None or result.first.passed:
        return None
    return result.failures[0] if result.failures else WRONG


def _rate(results: Sequence[Result], which: Which) -> Rate | None:
    tries = list(counted(results, which).values())
    return rate(tries) if tries else None


def _levels(results: Sequence[Result]) -> dict[str, tuple[Rate | None, Rate]]:
    levels = dict.fromkeys(result.level for result in results if result.level)
    levels_found = {}
    for level in levels:
        of_level = [result for result in results if result.level == level]
        first, final = _rate(of_level, first_of), _rate(of_level, final_of)
        if final is not None:
            levels_found[level] = (first, final)
    return levels_found


def _at_k(results: Sequence[Result]) -> dict[int, tuple[float | None, float]]:
    first, final = counted(results, first_of), counted(results, final_of)
    most = min((tried for _, tried in final.values()), default=0)

    def mean(tries: Mapping[str, tuple[int, int]], k: int) -> float:
        return fmean(pass_at(k, tried, passed) for passed, tried in tries.values())

    return {k: (mean(first, k) if first else None, mean(final, k)) for k in range(2, most + 1)}


def _money(amounts: Iterable[str | None]) -> str | None:
    amounts_known = list(amounts)
    if None in amounts_known or not amounts_known:
        return None
    return (
        f"{sum((Decimal(amount) for amount in amounts_known if amount is not None), Decimal(0)):f}"
    )
