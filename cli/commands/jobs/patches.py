"""`fettle patch` and `fettle apply`: the patch of a job, written or applied."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from cli.context import open_service
from cli.errors import CliError
from cli.output import Screen
from cli.repository.apply import apply_job


@click.command()
@click.argument("job_id", metavar="ID")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to FILE, not to stdout.",
)
@click.pass_obj
def patch_command(flags: Mapping[str, Any], job_id: str, output: Path | None) -> None:
    """Write the patch of the job ID for `git apply`: the patch of its open review, otherwise of its
    result. A terminal gets it in colours, with hidden characters spelled out."""
    with open_service(flags) as service:
        patch = service.patch(job_id)
    if output is None and sys.stdout.isatty():
        Screen().patch(patch)
        return
    if output is None:
        sys.stdout.buffer.write(patch)
        sys.stdout.flush()
        return
    try:
        output.write_bytes(patch)
    except OSError as error:
        raise CliError(f"{output} cannot be written", str(error.strerror)) from None


@click.command()
@click.argument("job_id", metavar="ID")
@click.pass_obj
def apply_command(flags: Mapping[str, Any], job_id: str) -> None:
    """Apply the patch of the job ID to the git repository of this directory, by three-way merge.

    The patch is applied completely or not at all. The command refuses if the index has changes, if
    the patch conflicts, or if it would overwrite changes that are not committed.
    """
    screen = Screen()
    with open_service(flags) as service:
        apply_job(service, service.job(job_id), screen)
