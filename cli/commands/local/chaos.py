"""`fettle chaos`: break everything under load, and check whether J1 to J14 held."""

from __future__ import annotations

from pathlib import Path

import click

from cli.drill import drill
from cli.local import bubblewrap


@click.command()
@click.option("--minutes", type=click.FloatRange(0.05, 24 * 60), default=1.0, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same schedule.")
@click.option(
    "--lease",
    type=click.FloatRange(min=0.5),
    default=2.0,
    show_default=True,
    help="The deployment's setting, in seconds.",
)
@click.option(
    "--sweep",
    type=click.FloatRange(min=0.1),
    default=0.5,
    show_default=True,
    help="The deployment's setting, in seconds.",
)
@click.option(
    "--slack",
    type=click.FloatRange(min=0),
    default=2.0,
    show_default=True,
    help="What a recovery may take beyond lease and sweep, in seconds.",
)
@click.option("--keep", type=click.Path(path_type=Path), help="A folder for all logs.")
@click.option("--json", "as_json", is_flag=True, help="The last line of stdout is one object.")
def command(*, as_json: bool, **given: float | Path | None) -> int:
    """Kill workers, API and Redis under load; exit 1 where a job is lost or a rule is broken.

    It uses a deployment of its own. No model is paid: recordings answer.
    """
    bubblewrap.ensure()
    words = [f"--{name}={value}" for name, value in given.items() if value is not None]
    return drill("chaos", [*words, *(["--json"] if as_json else [])])
