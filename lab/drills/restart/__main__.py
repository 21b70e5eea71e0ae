"""`python -m lab.drills.restart`: exit 0 if a restart loses and repeats no work."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from cli.output import Screen, print_json
from cli.render.parts import Tone
from lab.drills.outer import report_errors
from lab.drills.restart.drill import RestartOutcome, drill

HEADS = ("JOB", "STATUS", "WORKERS", "MODEL CALLS", "RUNS", "")


@click.command()
@click.option("--jobs", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The last line of stdout is one object.")
def main(jobs: int, as_json: bool) -> None:
    """Kill API, worker and Redis while jobs wait for a person; start them again; approve."""
    screen = Screen(stderr=as_json)
    with report_errors(screen):
        outcome = drill(jobs, lambda text: screen.line("restart", text))
    _show(screen, outcome)
    if as_json:
        print_json({"passed": outcome.passed, **asdict(outcome)})
    sys.exit(0 if outcome.passed else 1)


def _show(screen: Screen, outcome: RestartOutcome) -> None:
    screen.rows(
        HEADS,
        [
            (
                verdict.job_id,
                verdict.status,
                str(verdict.workers),
                f"{verdict.calls_before} before, {verdict.calls_after} after",
                str(verdict.runs_after),
                "; ".join(verdict.wrong) or "well",
            )
            for verdict in outcome.verdicts
        ],
    )
    screen.line("down", f"{outcome.down_seconds:.1f} s from the kill to the first answer")
    screen.line("done", f"{outcome.done_seconds:.1f} s from the approval to the end of all jobs")
    if outcome.passed:
        screen.line("passed", "nothing was lost, nothing was done twice", Tone.GOOD)
    else:
        screen.line("failed", "see the table", Tone.BAD)


if __name__ == "__main__":
    main()
