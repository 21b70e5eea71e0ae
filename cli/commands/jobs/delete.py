"""`fettle delete`: remove jobs that have ended, for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.context import open_service
from cli.output import Screen, print_json


@click.command()
@click.argument("job_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print {deleted: [ids]} as one JSON object.")
@click.pass_obj
def command(flags: Mapping[str, Any], job_ids: tuple[str, ...], *, as_json: bool) -> None:
    """Delete the jobs ID, which have ended, with all that is kept of them. Needs an admin key.

    The record of decisions on them is deleted, too; their files after FETTLE_BLOB_GRACE_SECONDS.
    """
    screen = Screen(stderr=as_json)
    with open_service(flags) as service:
        for job_id in job_ids:
            service.delete(job_id)
            screen.line("deleted", job_id)
    if as_json:
        print_json({"deleted": list(job_ids)})
