"""`fettle drain`: have a worker stop in good order, wherever it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.context import open_service
from cli.output import Screen


@click.command()
@click.argument("worker")
@click.pass_obj
def command(flags: Mapping[str, Any], worker: str) -> None:
    """Have WORKER (its id, as `fettle doctor` names it) hand on its jobs and stop.

    It hears of it by its next heartbeat, and does as at SIGTERM. What supervises it may start
    another in its place.
    """
    with open_service(flags) as service:
        service.drain(worker)
    Screen().line("asked", f"{worker} hands on what it holds, and stops")
