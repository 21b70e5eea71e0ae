"""Two files of results, exercise by exercise. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from lab.evals.errors import BadResults
from lab.evals.report.results import Header, Result
from lab.evals.report.statistics import Rate, mcnemar, rate, resampled
from lab.evals.report.summing import Which, counted, final_of, first_of


@dataclass(frozen=True, slots=True)
class Paired:
    """One measure of two measurements, over the `shared` exercises that both have.

    `only_first` and `only_second` are the exercises that only one passes (or passes more often,
    with several tries); `p` is McNemar's exact test on these; `difference` is second minus first,
    with its bootstrap interval.
    """

    measure: str
    shared: int
    first: Rate
    second: Rate
    difference: Rate
    only_first: Sequence[str]
    only_second: Sequence[str]
    p: float

    def as_fields(self) -> dict[str, Any]:
        """As plain values, for `--json`."""
        return asdict(self)


Measured = tuple[Header, Sequence[Result]]


def compare(first: Measured, second: Measured) -> list[Paired]:
    """Compare first attempts, and final results. Raises BadResults for different exercises."""
    if first[0].set["digest"] != second[0].set["digest"]:
        raise BadResults(
            "these are not the same exercises",
            f"{_header_name(first[0])} and {_header_name(second[0])} cannot be compared in pairs",
        )
    measures = {"first attempt": first_of, "at the end": final_of}
    pairs = (_paired(name, first, second, which) for name, which in measures.items())
    return [pair for pair in pairs if pair is not None]


def _paired(measure: str, first: Measured, second: Measured, which: Which) -> Paired | None:
    first_count, second_count = counted(first[1], which), counted(second[1], which)
    shared = [name for name in first_count if name in second_count]
    if not shared:
        return None
    shares = {name: (_share(first_count, name), _share(second_count, name)) for name in shared}
    gains = [b - a for a, b in shares.values()]
    low, high = resampled(gains)
    lost = [name for name, (a, b) in shares.items() if a > b]
    won = [name for name, (a, b) in shares.items() if a < b]
    return Paired(
        measure=measure,
        shared=len(shared),
        first=rate([first_count[name] for name in shared]),
        second=rate([second_count[name] for name in shared]),
        difference=Rate(fmean(gains), low, high),
        only_first=lost,
        only_second=won,
        p=mcnemar(len(lost), len(won)),
    )


def _share(tries: Mapping[str, tuple[int, int]], name: str) -> float:
    passed, tried = tries[name]
    return passed / tried


def _header_name(header: Header) -> str:
    return f"{header.set['name']} ({header.set['digest'][:12]})"
