"""`fettle watch`: follow a job to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.context import open_service
from cli.exit_codes import HELP
from cli.follow.follow import to_the_end


@click.command(epilog=HELP)
@click.argument("job_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the final job as one JSON object.")
@click.pass_obj
def command(flags: Mapping[str, Any], job_id: str, *, as_json: bool) -> int:
    """Follow the job ID from its first event to its last, as `fettle run` does."""
    with open_service(flags) as service:
        service.job(job_id)  # an unknown id is refused here, before anything is drawn
        return to_the_end(service, job_id, as_json=as_json)
