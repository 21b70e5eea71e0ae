"""`fettle apply`: a job's patch onto the work tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from cli.client.service import Job
from cli.context import open_service
from cli.output import Screen
from cli.render.parts import Tone
from cli.render.words import patch_text
from cli.repository.apply import apply


@click.command()
@click.argument("job_id", metavar="ID")
@click.pass_obj
def command(flags: Mapping[str, Any], job_id: str) -> None:
    """Apply the patch of the job ID to the git repository of this directory, by three-way merge.

    All of it is applied, or nothing. It refuses where the index has changes, where the patch
    conflicts, and where it would overwrite changes that are not committed.
    """
    screen = Screen()
    with open_service(flags) as service:
        job = service.job(job_id)
        patch = service.patch(job_id)
        about = _about(job)
        if not _approved(job):
            screen.line("not approved", f"the job is {job['status'].replace('_', ' ')}", Tone.WARN)
        staged = apply(Path(), patch, about["base"])
        where = "work tree and index" if staged else "work tree"
        screen.line("applied", f"{patch_text(about)}, to {where}", Tone.GOOD)


def _about(job: Job) -> Mapping[str, Any]:
    shown = job["review"]["payload"] if job["review"] else job["result"]
    about: Mapping[str, Any] = shown["patch"]
    return about


def _approved(job: Job) -> bool:
    return bool(job["status"] == "succeeded" and not job.get("unapproved"))
