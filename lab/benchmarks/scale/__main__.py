"""`python -m lab.benchmarks.scale [--json]`: many jobs in flight, and one job that gets long.

Keys of the JSON line, for 50, 200 and 500 jobs: `makespan_ratio_N` (over the ideal, the time of one
job's 5 calls), `makespan_vs_baseline_N` (over one process, in the same run), `rss_mb_N` (the peak
of all workers with their sandboxes, as PSS), `sandboxes_mb_N` of it, and both makespans. For 10,
100 and 400 tool calls: `ms_per_call_N`, `bytes_per_call_N` (in Redis),
`event_bytes_per_call_N` of them, `file_bytes_per_call_N` (in the artifact store), and the ratios of
400 to 10; and the size of a finished job in Redis: `finished_bytes_per_call`, and
`finished_bytes_otherwise`.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

import click

from cli.errors import CliError
from cli.output import Screen, print_json
from lab.benchmarks.scale import figures, length, model
from lab.benchmarks.scale.deployment import ScaleDeployment, started
from lab.benchmarks.scale.figures import FLIGHTS, LENGTHS, Cost, Flight, PerCall
from lab.benchmarks.scale.flight import fly
from lab.drills.outer import report_errors

HEADS = ("WHAT", "FIGURE", "GOAL", "")
SLOTS = 256
WARM_JOBS = 50
WARM_SECONDS = 5.0
"""Warm-up: connections and zygotes are made before the measurement, on both sides."""
JOBS_AS_LONG = {10: 8, 100: 2, 400: 1}
"""The number of jobs of each length: of short ones the median of several is used."""
BASELINE_SECONDS = 240


def flights(
    target: ScaleDeployment, counts: Sequence[int], seconds: float, rounds: int, screen: Screen
) -> list[Flight]:
    """Measure both sides in turn, for each number of jobs; the sides alternate in starting."""
    asyncio.run(fly(target, min(WARM_JOBS, *counts), 0.0))
    time.sleep(min(WARM_SECONDS, WARM_SECONDS * seconds))
    measured = []
    for jobs in counts:
        service, baseline = [], []
        for number in range(rounds):
            if number % 2:
                baseline.append(_baseline(target, jobs, seconds))
            service.append(asyncio.run(fly(target, jobs, seconds)))
            if not number % 2:
                baseline.append(_baseline(target, jobs, seconds))
        measured.append(Flight.of(jobs, model.FLIGHT_CALLS * seconds, service, baseline))
        screen.line(f"{jobs} jobs", str(measured[-1]))
    return measured


def lengths(target: ScaleDeployment, tools: Sequence[int], screen: Screen) -> list[PerCall]:
    """Run one job at a time, short jobs before and after long jobs: a slow moment affects both."""
    asyncio.run(length.run(target, min(tools)))
    costs: list[Cost] = []
    for count in figures.symmetric_order(
        {tool_count: JOBS_AS_LONG.get(tool_count, 1) for tool_count in tools}
    ):
        costs.append(asyncio.run(length.run(target, count)))
        screen.line(f"{count} tool calls", f"{costs[-1].seconds:.1f} s")
    return [
        PerCall.of([cost for cost in costs if cost.tools == tool_count])
        for tool_count in sorted(tools)
    ]


def _baseline(target: ScaleDeployment, jobs: int, seconds: float) -> float:
    argv = [sys.executable, "-P", "-m", "lab.benchmarks.scale.baseline", str(jobs), f"{seconds:g}"]
    done = subprocess.run(
        argv,
        env=dict(target.env),
        capture_output=True,
        text=True,
        timeout=BASELINE_SECONDS,
        check=False,
    )
    if done.returncode:
        raise CliError("the baseline failed", done.stderr[-2_000:])
    took: float = json.loads(done.stdout.splitlines()[-1])["seconds"]
    return took


def settings() -> Mapping[str, str]:
    """The settings that docs/how-to/scale-out.md recommends, with enough steps for 400 calls."""
    return {"FETTLE_CONCURRENCY": str(SLOTS), "FETTLE_MAX_STEPS": str(2 * LENGTHS[-1])}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
@click.option("--jobs", type=click.IntRange(1), multiple=True, default=FLIGHTS, show_default=True)
@click.option("--seconds", type=float, default=1.0, show_default=True, help="of a model's call")
@click.option("--calls", type=click.IntRange(1), multiple=True, default=LENGTHS, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=1, show_default=True, help="of flights")
@click.option("--workers", type=click.IntRange(1), help="processes; else one a processor")
def main(
    as_json: bool,
    jobs: tuple[int, ...],
    seconds: float,
    calls: tuple[int, ...],
    rounds: int,
    workers: int | None,
) -> None:
    """Measure, and compare the figures with their goals."""
    screen = Screen(stderr=as_json)
    with report_errors(screen):
        count = workers or os.cpu_count() or 1
        with started(count, settings()) as target:
            screen.line("workers", f"{count}, with {SLOTS} slots each")
            keys = figures.flight_keys(flights(target, jobs, seconds, rounds, screen))
            keys |= figures.length_keys(lengths(target, calls, screen))
    screen.rows(HEADS, figures.rows(keys))
    if as_json:
        print_json(keys)


if __name__ == "__main__":
    main()
