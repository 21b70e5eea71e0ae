"""`fettle chaos`: break everything under load, and check the invariants J1 to J14."""

from __future__ import annotations

from typing import Any

import click

from cli.local import bubblewrap
from lab.commands.drill_process import drill_arguments, run_drill
from lab.drills.chaos.options import chaos_options


@click.command()
@chaos_options
@click.pass_context
def command(ctx: click.Context, /, **_options: Any) -> int:
    """Kill workers, API and Redis under load; exit 1 if a job is lost or an invariant is broken.

    The drill starts a deployment of its own. Recordings play the models, so it costs no money.
    """
    bubblewrap.ensure()
    return run_drill("lab.drills.chaos", drill_arguments(ctx))
