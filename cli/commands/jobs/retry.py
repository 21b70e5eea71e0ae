"""`fettle retry`: retry a failed or cancelled job as a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.commands.jobs.spec_options import given, term_options
from cli.context import open_service
from cli.exit_codes import HELP
from cli.follow.follow import begun


@click.command(epilog=HELP)
@click.argument("job_id", metavar="ID")
@term_options
@click.option("--no-wait", is_flag=True, help="Print the new job's id and leave.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the new job as one JSON object; with --no-wait its id and status.",
)
@click.pass_obj
def command(
    flags: Mapping[str, Any],
    /,
    job_id: str,
    *,
    no_wait: bool,
    as_json: bool,
    **terms: Any,
) -> int:
    """Retry the failed or cancelled job ID as a new job that continues where it stopped.

    What was paid for is not paid again; the retry of an unapproved job gets fresh revisions. An
    option changes a term of the job for the retry, as in --max-cost-usd 2 or --timeout 1h. The
    command follows the new job as `fettle run` does.
    """
    with open_service(flags) as service:
        job = service.retry(job_id, given(terms))
        return begun(service, job, no_wait=no_wait, as_json=as_json)
