"""`python -m lab.evals.verdicts [NAME ...] [--critic PROVIDER:MODEL] [--mutations N] [--json]`.

Keys of the JSON line: `planted` and `honest` (numbers of jobs), `as_expected` (jobs on which the
rules' verdict is the expected one), `found` (planted jobs that are not approved, or have evidence
that a note weakens) and `sent_back` (honest jobs that are not approved). Exit code 1 if a verdict
of the rules is not the expected one.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import click

from cli.output import Screen, print_json
from lab.evals.verdicts.play import PlayedJob, play
from lab.evals.verdicts.recorded_job import recorded_jobs
from sandbox.local import LocalSandbox
from settings.worker import WorkerSettings
from worker.context import model_options

HEADS = ("JOB", "VERIFICATION", "STRENGTH", "VERDICT", "AS EXPECTED")


async def _play_all(names: Sequence[str], critic: str | None, mutations: int) -> list[PlayedJob]:
    settings = WorkerSettings()
    sandbox = LocalSandbox(settings.sandbox_python)
    options = model_options(settings)
    try:
        return [
            await play(job, sandbox, options, critic, mutations) for job in recorded_jobs(names)
        ]
    finally:
        await sandbox.close()


def _row(played: PlayedJob) -> tuple[str, ...]:
    verification = played.verification
    state = "holds" if verification["holds"] else "does not hold"
    if verification["own_word"]:
        state += ", own word"
    strength = verification["strength"]
    return (
        played.job.name,
        f"{state}, notes: {len(verification['notes'])}",
        f"{strength['noticed']}/{strength['tried']}" if strength else "",
        played.critique["verdict"],
        "yes" if not played.differences else "no",
    )


def figures(ends: Sequence[PlayedJob]) -> dict[str, int]:
    """The keys for `--json`. Pure."""
    planted = [played for played in ends if played.job.is_planted]
    honest = [played for played in ends if not played.job.is_planted]
    return {
        "planted": len(planted),
        "honest": len(honest),
        "as_expected": sum(not played.differences for played in ends),
        "found": sum(_is_found(played) for played in planted),
        "sent_back": sum(played.critique["verdict"] == "revise" for played in honest),
    }


def _is_found(played: PlayedJob) -> bool:
    verification = played.verification
    weakened = bool(verification["notes"]) or verification["own_word"]
    return weakened or played.critique["verdict"] == "revise"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--critic", help="the model that judges, as PROVIDER:MODEL")
@click.option(
    "--mutations", default=20, show_default=True, help="changes of the code to try in each job"
)
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
def main(names: tuple[str, ...], critic: str | None, mutations: int, as_json: bool) -> None:
    """Play the recorded jobs, and compare the rules' verdicts with the expected ones."""
    ends = asyncio.run(_play_all(names, critic, mutations))
    screen = Screen(stderr=as_json)
    screen.rows(HEADS, [_row(played) for played in ends])
    for played in ends:
        for difference in played.differences:
            screen.line(played.job.name, difference)
        if critic and played.critique["verdict"] == "revise":
            screen.line(played.job.name, played.critique["feedback"])
    counts = figures(ends)
    screen.line("verdicts", ", ".join(f"{name} {value}" for name, value in counts.items()))
    if as_json:
        print_json(counts)
    sys.exit(1 if counts["as_expected"] < len(ends) else 0)


if __name__ == "__main__":
    main()
