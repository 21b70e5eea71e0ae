"""`python -m lab.drills.leaks`: exit 0 if thousands of runs leave nothing behind."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import click

from cli.output import Screen, print_json
from cli.render.parts import Tone
from lab.drills import process_tree
from lab.drills.engine import engine
from lab.drills.leaks.census import Census, uids
from lab.drills.leaks.drill import LeakOutcome, drill
from lab.drills.leaks.growth import MIB
from lab.drills.leaks.mix import LIMITS
from lab.drills.outer import report_errors
from settings.sandbox import Backend, SandboxSettings
from worker.adapters.backend import backend

HEADS = ("WHAT", "BEFORE", "AFTER", "CLOSED", "")


@click.command()
@click.option("--runs", type=click.IntRange(100), default=10_000, show_default=True)
@click.option(
    "--backend",
    "name",
    type=click.Choice([backend.value for backend in Backend]),
    help="Else as FETTLE_SANDBOX says.",
)
@click.option("--json", "as_json", is_flag=True, help="The last line of stdout is one object.")
def main(runs: int, name: str | None, as_json: bool) -> None:
    """Run a mix of good and bad programs in a row, and count the things that they leave behind."""
    screen = Screen(stderr=as_json)
    settings = SandboxSettings(sandbox=Backend(name)) if name else SandboxSettings()
    process_tree.adopt_orphans()
    with report_errors(screen), engine(settings, lambda text: screen.line("engine", text)) as ready:
        census = Census(ready, uids(ready))
        outcome = asyncio.run(
            drill(
                lambda: backend(ready, ready_for=LIMITS),
                census,
                runs,
                lambda text: screen.line("sandboxes", text),
            )
        )
    _show(screen, outcome)
    if as_json:
        print_json(_plain(settings.sandbox, outcome))
    sys.exit(0 if outcome.passed else 1)


def _show(screen: Screen, outcome: LeakOutcome) -> None:
    screen.rows(HEADS, _rows(outcome))
    screen.line("took", f"{outcome.seconds:.0f} s, {outcome.runs / outcome.seconds:.0f} runs/s")
    for label, count in outcome.wrong.items():
        screen.line("wrong", f"{count} runs of the kind `{label}` ended otherwise", Tone.BAD)
    if outcome.passed:
        screen.line("passed", f"{outcome.runs} runs left nothing behind", Tone.GOOD)
    else:
        screen.line("failed", "see the table", Tone.BAD)


def _rows(outcome: LeakOutcome) -> Iterator[tuple[str, ...]]:
    for row in outcome.rows:
        counts = (str(row.before), str(row.after), str(row.closed))
        yield row.label, *counts, "grown" if row.grown else ""
    for memory in outcome.memory:
        growth = f"{memory.growth / MIB:+.1f} MiB" + (" grown" if memory.grown else "")
        sizes = (f"{memory.line[0] / MIB:.1f} MiB", f"{memory.line[-1] / MIB:.1f} MiB")
        yield f"memory of the {memory.label}", *sizes, "", growth


def _plain(name: Backend, outcome: LeakOutcome) -> dict[str, object]:
    return {
        "passed": outcome.passed,
        "backend": name,
        "runs": outcome.runs,
        "seconds": outcome.seconds,
        "wrong": outcome.wrong,
        "counts": {
            row.label: {"before": row.before, "after": row.after, "closed": row.closed}
            for row in outcome.rows
        },
        "memory_growth_bytes": {memory.label: round(memory.growth) for memory in outcome.memory},
    }


if __name__ == "__main__":
    main()
