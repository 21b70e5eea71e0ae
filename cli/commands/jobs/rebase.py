"""`fettle rebase`: a new job that carries on the approved change of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cli.context import open_service
from cli.exit_codes import HELP
from cli.follow.follow import begun


@click.command(epilog=HELP)
@click.argument("job_id", metavar="ID")
@click.option("--no-wait", is_flag=True, help="Print the new job's id and leave.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the new job as one JSON object; with --no-wait its id and status.",
)
@click.pass_obj
def command(flags: Mapping[str, Any], job_id: str, *, no_wait: bool, as_json: bool) -> int:
    """Merge the approved change of the ended job ID onto the commit that its branch is at now.

    It is a new job on the same terms. It begins with the merged files, resolves what conflicts,
    runs the tests, and is approved and delivered as its own. The command follows it as `fettle
    run` does.
    """
    with open_service(flags) as service:
        return begun(service, service.rebase(job_id), no_wait=no_wait, as_json=as_json)
