"""`python -m drills.chaos`, which `fettle chaos` runs: exit 0 where every rule held, else 1.

With `--url` the key comes from FETTLE_API_KEY, as for every client.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from cli.context import load
from cli.errors import CliError
from cli.output import Screen, print_json
from cli.render.parts import Tone
from cli.signals import Stopped
from drills.chaos import drill, report
from drills.chaos.checks.case import Bounds
from settings.client import ClientSettings

OWN = Bounds(lease=2.0, sweep=0.5)
"""Of a deployment that is made for it: short, so that many recoveries are seen."""


@click.command()
@click.option("--minutes", type=click.FloatRange(0.05, 24 * 60), default=1.0, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--url", help="a deployment that runs: only its clients misbehave")
@click.option("--supervisor", type=int, help="with --url: faults, too, below this process")
@click.option("--lease", type=click.FloatRange(min=0.5), help="2, with --url 15")
@click.option("--sweep", type=click.FloatRange(min=0.1), help="0.5, with --url 2")
@click.option(
    "--slack",
    type=click.FloatRange(min=0),
    default=2.0,
    show_default=True,
    help="what a recovery may take beyond lease and sweep",
)
@click.option("--keep", type=click.Path(path_type=Path), help="a folder for all logs")
@click.option("--json", "as_json", is_flag=True, help="The last line of stdout is one object.")
def main(
    *,
    minutes: float,
    seed: int,
    url: str | None,
    supervisor: int | None,
    lease: float | None,
    sweep: float | None,
    slack: float,
    keep: Path | None,
    as_json: bool,
) -> None:
    """Break everything under load, and look whether J1 to J14 held."""
    screen = Screen(stderr=as_json)
    usual = OWN if url is None else Bounds()
    lease = lease or usual.lease
    heartbeat = min(lease / 4, Bounds().heartbeat)
    bounds = Bounds(lease=lease, heartbeat=heartbeat, sweep=sweep or usual.sweep, slack=slack)
    options = drill.Options(minutes, seed, bounds, keep)
    try:
        outcome = _outcome(screen, options, url, supervisor)
    except CliError as error:
        screen.line("error", "\n".join(filter(None, (error.title, error.detail))), Tone.BAD)
        sys.exit(error.exit_code)
    except Stopped as stopped:
        sys.exit(stopped.exit_code)
    report.show(screen, outcome)
    if as_json:
        print_json(report.plain(outcome, seed))
    sys.exit(0 if outcome.passed else 1)


def _outcome(
    screen: Screen, options: drill.Options, url: str | None, supervisor: int | None
) -> drill.Outcome:
    watch = partial(report.watching, screen)
    if url is None:
        screen.line(
            "chaos", f"seed {options.seed}, {options.minutes:g} minutes, on a deployment of its own"
        )
        return drill.own(options, watch)
    settings = load(ClientSettings, url=url)
    screen.line("chaos", f"seed {options.seed}, {options.minutes:g} minutes, on {settings.url}")
    place = drill.Place(settings.url, settings.api_key.get_secret_value(), supervisor)
    return drill.named(options, place, watch)


if __name__ == "__main__":
    main()
