"""`python -m lab.benchmarks.pages --baseline CHECKOUT [--json]`: the pages of two checkouts.

Both APIs run at the same time, each with its own Redis, with 300 jobs that wait for a person and a
job with 2,000 events; requests alternate. Keys of the JSON line, for `inbox`, `list` and `job`:
`PAGE_ms`, `PAGE_baseline_ms` (medians) and `PAGE_ratio`. Exits 1 if a ratio misses its goal.
"""

from __future__ import annotations

import statistics
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from cli.local.processes import LoggedProcesses, running
from cli.output import Screen, print_json
from cli.signals import Signals
from lab.benchmarks.goal import judged
from lab.benchmarks.pages.side import Side, start_side
from lab.drills.outer import report_errors

HERE = Path(__file__).resolve().parents[3]
HEADS = ("PAGE", "HERE", "BASELINE", "RATIO", "GOAL", "")
GOAL = 1.1
"""No page is slower; the medians of two equal sides differ by up to a tenth."""
WARM_ROUNDS = 5


def measure(side: Side, baseline: Side, rounds: int) -> dict[str, float]:
    """Request each page of both sides in turn; the sides alternate in starting."""
    keys: dict[str, float] = {}
    for page in side.paths:
        times: tuple[list[float], list[float]] = ([], [])
        sides = list(zip((side, baseline), times, strict=True))
        for number in range(WARM_ROUNDS + rounds):
            for measured, seconds in reversed(sides) if number % 2 else sides:
                seconds.append(measured.seconds(page))
        median, baseline_median = (statistics.median(seconds[WARM_ROUNDS:]) for seconds in times)
        keys |= {
            f"{page}_ms": round(median * 1000, 1),
            f"{page}_baseline_ms": round(baseline_median * 1000, 1),
            f"{page}_ratio": round(median / baseline_median, 2),
        }
    return keys


@click.command()
@click.option(
    "--baseline",
    required=True,
    metavar="CHECKOUT",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    help="the folder of another checkout of this repository",
)
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
@click.option("--waiting", type=click.IntRange(1), default=300, show_default=True, help="jobs")
@click.option("--events", type=click.IntRange(1), default=2_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=30, show_default=True)
def main(baseline: Path, as_json: bool, waiting: int, events: int, rounds: int) -> None:
    """Measure, and compare the ratios with their goal."""
    screen = Screen(stderr=as_json)
    with report_errors(screen), Signals() as signals, ExitStack() as stack:
        with signals.delayed():  # a signal here would leave the directory behind
            folder = stack.enter_context(TemporaryDirectory(prefix="fettle-pages-"))
        programs = LoggedProcesses(stack.enter_context(running(signals)), Path(folder))
        sides = [
            start_side(programs, name, checkout, waiting, events)
            for name, checkout in (("here", HERE), ("baseline", baseline))
        ]
        keys = measure(sides[0], sides[1], rounds)
    pages = list(sides[0].paths)
    screen.rows(
        HEADS,
        [
            (
                page,
                f"{keys[f'{page}_ms']} ms",
                f"{keys[f'{page}_baseline_ms']} ms",
                f"{keys[f'{page}_ratio']}",
                *judged(GOAL, keys[f"{page}_ratio"]),
            )
            for page in pages
        ],
    )
    if as_json:
        print_json(keys)
    sys.exit(1 if any(keys[f"{page}_ratio"] > GOAL for page in pages) else 0)


if __name__ == "__main__":
    main()
