"""`fettle drain`: drain a worker, wherever it runs."""

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
    """Drain WORKER (its id, as `fettle doctor` shows it): it returns its jobs to the queue and
    stops.

    It reads the request at its next heartbeat, and acts as at SIGTERM. Its supervisor may start
    another in its place.
    """
    with open_service(flags) as service:
        service.drain(worker)
    Screen().line("asked", f"{worker} returns its jobs to the queue, and stops")
