"""`fettle list`, `show`, `watch`, `export`: commands that read jobs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from api.http.foreign_text import visible_path
from cli.client import Job
from cli.client.files import change_of, save, text_of
from cli.context import open_service
from cli.errors import CliError
from cli.exit_codes import HELP
from cli.follow.follow import follow_to_end
from cli.output import Screen, print_json
from cli.render.evidence import Detail
from cli.render.job import is_of_work, job_parts
from cli.render.listing import show_jobs
from cli.render.transcript import Texts, transcript
from fettle import Service
from fettle.events import ReceivedEvent
from jobs.model.spec import JobKind

STATUSES = ("queued", "running", "awaiting_review", "succeeded", "failed", "cancelled")


@click.command()
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True)
@click.option("--status", type=click.Choice(STATUSES), help="Only jobs in this state.")
@click.option("--label", metavar="WORD", help="Only jobs with this label.")
@click.option("--person", metavar="NAME", help="Only jobs that this person submitted.")
@click.option("--model", metavar="NAME", help="Only jobs that asked for this model.")
@click.option("--repository", metavar="URL", help="Only jobs on this repository.")
@click.option("--conversation", metavar="ID", help="Only jobs of this conversation.")
@click.option("--batch", metavar="ID", help="Only jobs of this batch.")
@click.option("--from", metavar="TIME", help="Only jobs submitted then or later, as 2026-11-21.")
@click.option("--to", metavar="TIME", help="Only jobs submitted before.")
@click.option("--sort", type=click.Choice(["newest", "oldest"]), help="The order.")
@click.option("--text", metavar="WORDS", help="Only jobs with these words in task, labels or id.")
@click.option("--waiting", is_flag=True, help="Only jobs that wait for your decision.")
@click.option("--override", is_flag=True, help="Only jobs approved against their evidence.")
@click.option(
    "--kind", type=click.Choice([kind.value for kind in JobKind]), help="Only jobs of this kind."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def list_command(
    flags: Mapping[str, Any], /, *, as_json: bool, waiting: bool, override: bool, **query: Any
) -> None:
    """List jobs, newest first; with --waiting, the longest wait first."""
    with open_service(flags) as service:
        filters = {"waiting": "me" if waiting else None, "override": "true" if override else None}
        page = service.jobs(**query, **filters)
        if as_json:
            print_json(page)
        else:
            show_jobs(Screen(), page)


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
def show_command(
    flags: Mapping[str, Any], job_id: str, *, folder: Path | None, as_json: bool
) -> None:
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


def _left_out(service: Service, job: Job) -> Iterator[ReceivedEvent]:
    """The events about files and dependencies that the job does not have. They come before the
    plan."""
    if job["spec"].get("repo"):
        for event in service.events_so_far(job):
            if event.kind in ("files_missing", "setup_left_out"):
                yield event
            if event.kind == "planned":
                return


@click.command(epilog=HELP)
@click.argument("job_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the final job as one JSON object.")
@click.pass_obj
def watch_command(flags: Mapping[str, Any], job_id: str, *, as_json: bool) -> int:
    """Follow the job ID from its first event to its last, as `fettle run` does."""
    with open_service(flags) as service:
        service.job(job_id)  # an unknown id is refused here, before anything is drawn
        return follow_to_end(service, job_id, as_json=as_json)


FORMAT = 1
MOST_BYTES = 1024 * 1024
"""The size of the largest file that a tool edits."""
PARTS = ("code", "stdout", "stderr")


@click.command()
@click.argument("job_id", metavar="ID")
@click.option(
    "--format",
    "form",
    type=click.Choice(["md", "json"]),
    help="Markdown, else as FILE's name ends.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to FILE, not to stdout.",
)
@click.pass_obj
def export_command(
    flags: Mapping[str, Any], /, job_id: str, form: str | None, output: Path | None
) -> None:
    """Write the transcript of the job ID: task, plan, each run with its code and complete output,
    the files that tools wrote, repairs, verdicts, decisions, cost.

    JSON holds the job and its events as the API returns them, the full form of each text that the
    API shortens (`texts`), and the text of each version of a file that a tool wrote (`files`, by
    SHA-256). A job that is still running is written as far as it has come.
    """
    chosen = form or ("json" if output is not None and output.suffix == ".json" else "md")
    with open_service(flags) as service:
        job = service.job(job_id)
        events = list(service.events_so_far(job))
        texts = _full_texts(service, job_id, events)
        files = _written(service, job_id, events)
        write = _as_json if chosen == "json" else transcript
        text = write(job, events, texts, files)
    _write(output, text)


def _full_texts(service: Service, job_id: str, events: list[ReceivedEvent]) -> Texts:
    cut = (
        (event.data, part)
        for event in events
        if event.kind == "run_finished"
        for part in PARTS
        if event.data[part].get("digest")
    )
    texts = {
        (run["id"], part): service.text(f"/jobs/{job_id}/runs/{run['number']}/{part}")
        for run, part in cut
    }
    for event in events:
        if event.kind == "repaired" and event.data["diff"].get("digest"):
            run_id = event.data["run"]
            texts[run_id, "diff"] = service.text(f"/jobs/{job_id}/repairs/{run_id}/diff")
    return texts


def _written(service: Service, job_id: str, events: Sequence[ReceivedEvent]) -> Mapping[str, str]:
    """The texts of the files that tools wrote, by digest."""
    fetched = text_of(service, job_id, MOST_BYTES)
    versions = {
        artifact["digest"]: artifact
        for event in events
        if event.kind == "tool_used"
        for artifact in event.data.get("artifacts", ())
    }
    texts = ((digest, fetched(artifact)) for digest, artifact in versions.items())
    return {digest: text for digest, text in texts if text is not None}


def _as_json(
    job: Job, events: Sequence[ReceivedEvent], texts: Texts, files: Mapping[str, str]
) -> str:
    document = {
        "format": FORMAT,
        "job": job,
        "events": [
            {"seq": e.seq, "at": e.at.isoformat(), "kind": e.kind, "data": e.data} for e in events
        ],
        "texts": {f"{run}/{part}": text for (run, part), text in texts.items()},
        "files": files,
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _write(output: Path | None, text: str) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{output} cannot be written", str(error.strerror)) from None
