"""`fettle chaos`: break everything under load, and look whether J1 to J14 held."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from cli import bubblewrap
from cli.signals import Signals, Stopped


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
    "--lease", type=click.FloatRange(min=0.5), help="Seconds, as it is told; 2, with --url 15."
)
@click.option(
    "--sweep", type=click.FloatRange(min=0.1), help="Seconds, as it is told; 0.5, with --url 2."
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
    flags: Mapping[str, str], /, *, as_json: bool, **told: float | str | Path | None
) -> int:
    """Kill workers, API and Redis under load; exit 1 where a job is lost or a rule is broken.

    Without an address it all happens on a deployment of its own. With one, the servers are left
    alone, and only clients misbehave, unless their supervisor is told. No model is paid:
    recordings answer.
    """
    told = {**told, "url": told["url"] or flags.get("url")}
    if told["url"] is None:
        bubblewrap.ensure()
    words = [f"--{name}={value}" for name, value in told.items() if value is not None]
    words += ["--json"] if as_json else []
    return _drill(words)


def _drill(words: list[str]) -> int:
    """Run the drill in a process of its own; returns its exit code when it has cleared up."""
    # -P: a folder `drills` in the user's own project must not stand in for ours.
    process = subprocess.Popen([sys.executable, "-P", "-m", "drills.chaos", *words])
    with Signals() as signals:
        try:
            return process.wait()
        except Stopped as stopped:
            signals.hold()  # it clears up first, however often we are asked
            if stopped.exit_code != 128 + signal.SIGINT:
                process.terminate()  # a terminal's Ctrl-C has reached it too, this has not
            process.wait()
            raise
