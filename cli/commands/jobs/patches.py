"""`fettle patch` and `fettle apply`: the patch of a job, written or applied."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from cli.client import Job
from cli.context import open_service
from cli.errors import CliError
from cli.output import Screen
from cli.render.job import patch_of
from cli.render.parts import Tone
from cli.render.texts import patch_text
from cli.repository.apply import apply


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
        job = service.job(job_id)
        about = patch_of(job)
        if about is None and not job["spec"].get("repo"):
            remedy = f"`fettle patch {job_id} | git apply` changes files of this directory"
            raise CliError("the job is not on a repository", remedy)
        patch = service.patch(job_id)
        if not _is_approved(job):
            screen.line("not approved", f"the job is {job['status'].replace('_', ' ')}", Tone.WARN)
        assert about is not None  # noqa: S101 - the service has a patch only if it has figures
        staged = apply(Path(), patch, about["base"])
        targets = "work tree and index" if staged else "work tree"
        screen.line("applied", f"{patch_text(about)}, to {targets}", Tone.GOOD)


def _is_approved(job: Job) -> bool:
    return bool(job["status"] == "succeeded" and not job.get("unapproved"))
