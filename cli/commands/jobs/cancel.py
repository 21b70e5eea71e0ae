"""`fettle cancel`: end a job for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.context import open_service
from cli.output import Screen, print_json


@click.command()
@click.argument("job_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the job's id and status as JSON.")
@click.pass_obj
def command(flags: Mapping[str, Any], job_id: str, *, as_json: bool) -> None:
    """Cancel the job ID: no new model call and no new run starts."""
    with open_service(flags) as service:
        job = service.cancel(job_id)
    if as_json:
        print_json(job)
    else:
        Screen().line("cancelled", job_id)
