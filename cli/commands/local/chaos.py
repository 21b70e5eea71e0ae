"""`fettle chaos`: break everything under load, and check whether J1 to J14 held."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from cli.drill import drill
from cli.local import bubblewrap


@click.command()
@click.option("--minutes", type=click.FloatRange(0.05, 24 * 60), default=1.0, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same schedule.")
@click.option(
    "--url", metavar="URL", help="A deployment that runs; else one is made and thrown away."
)
@click.option(
    "--supervisor",
    type=click.IntRange(2),
    metavar="PID",
    help="With --url: kill, too, what runs below this process, such as `fettle up`.",
)
@click.option(
    "--lease",
    type=click.FloatRange(min=0.5),
    help="The deployment's setting, in seconds; 2, with --url 15.",
)
@click.option(
    "--sweep",
    type=click.FloatRange(min=0.1),
    help="The deployment's setting, in seconds; 0.5, with --url 2.",
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
@click.pass_obj
def command(
    flags: Mapping[str, str], /, *, as_json: bool, **flags_given: float | str | Path | None
) -> int:
    """Kill workers, API and Redis under load; exit 1 where a job is lost or a rule is broken.

    Without an address it uses a deployment of its own. With one, only clients misbehave, and the
    servers are killed only where their supervisor is named. No model is paid: recordings answer.
    """
    flags_given = {**flags_given, "url": flags_given["url"] or flags.get("url")}
    if flags_given["url"] is None:
        bubblewrap.ensure()
    words = [f"--{name}={value}" for name, value in flags_given.items() if value is not None]
    words += ["--json"] if as_json else []
    return drill("chaos", words)
