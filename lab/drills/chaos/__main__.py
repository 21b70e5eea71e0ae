"""`python -m lab.drills.chaos`, which `fettle chaos` runs: exit 0 if every rule held, else 1."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from cli.output import Screen, print_json
from lab.drills.chaos import drill, report
from lab.drills.chaos.checks.case import RecoveryBounds
from lab.drills.chaos.options import chaos_options
from lab.drills.outer import report_errors


@click.command()
@chaos_options
def main(
    *,
    minutes: float,
    seed: int,
    lease: float,
    sweep: float,
    slack: float,
    keep: Path | None,
    as_json: bool,
) -> None:
    """Break everything under load, and check whether J1 to J14 held."""
    screen = Screen(stderr=as_json)
    heartbeat = min(lease / 4, RecoveryBounds().heartbeat)
    bounds = RecoveryBounds(lease=lease, heartbeat=heartbeat, sweep=sweep, slack=slack)
    screen.line("chaos", f"seed {seed}, {minutes:g} minutes, on a deployment of its own")
    with report_errors(screen):
        options = drill.ChaosOptions(minutes, seed, bounds, keep)
        outcome = drill.run(options, partial(report.watching, screen))
    report.show(screen, outcome)
    if as_json:
        print_json(report.plain(outcome, seed))
    sys.exit(0 if outcome.passed else 1)


if __name__ == "__main__":
    main()
