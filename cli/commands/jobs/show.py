"""`fettle show`: a whole job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from api.http.foreign_text import visible_path
from cli.client.change import change_of
from cli.client.events import Event
from cli.client.files import save
from cli.client.service import Job, Service
from cli.context import open_service
from cli.output import Screen, print_json
from cli.render.job import is_of_work, job_parts
from cli.render.runs import Detail


@click.command()
@click.argument("job_id", metavar="ID")
@click.option(
    "--save",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Save the files of its workspace, without symbolic links.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the job as one JSON object.")
@click.pass_obj
def command(flags: Mapping[str, Any], job_id: str, *, folder: Path | None, as_json: bool) -> None:
    """Show the job ID: plan, each run's code and output, verdicts, answer, cost; of an open review
    the files and the change, too."""
    screen = Screen(stderr=as_json)
    with open_service(flags) as service:
        job = service.job(job_id)
        if as_json:
            print_json(job)
        else:
            change = change_of(service, job) if is_of_work(job["review"]) else None
            screen.parts(job_parts(job, Detail(None, None), _left_out(service, job), change))
        if folder is not None:
            for path in save(service, job_id, folder):
                screen.line("saved", str(path))
            for name, target in service.links(job_id).items():
                link = f"{visible_path(name)} -> {visible_path(target)}"
                screen.line("not saved", f"{link} (a symbolic link)")


def _left_out(service: Service, job: Job) -> Iterator[Event]:
    """The event that nothing was installed for the job, if there is one: it comes before a plan."""
    if job["spec"].get("repo") and job["spec"].get("setup") is None:
        for event in service.events_so_far(job):
            if event.kind == "setup_left_out":
                yield event
            if event.kind in ("setup_left_out", "setup_finished", "planned"):
                return
