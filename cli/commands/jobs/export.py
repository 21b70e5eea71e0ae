"""`fettle export`: a job's transcript."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from cli.client.events import Event
from cli.client.files import text_of
from cli.client.service import Job, Service
from cli.context import open_service
from cli.errors import CliError
from cli.render.transcript import Texts, transcript

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
def command(
    flags: Mapping[str, Any], /, job_id: str, form: str | None, output: Path | None
) -> None:
    """Write the transcript of the job ID: task, plan, each run with its code and whole output, the
    files that tools wrote, repairs, verdicts, decisions, cost.

    JSON holds the job and its events as the API returns them, the whole of each text that the API
    shortens (`texts`), and the text of each version of a file that a tool wrote (`files`, by
    SHA-256). A job that is still running is written as far as it has come.
    """
    chosen = form or ("json" if output is not None and output.suffix == ".json" else "md")
    with open_service(flags) as service:
        job = service.job(job_id)
        events = list(service.events_so_far(job))
        texts = _whole(service, job_id, events)
        files = _written(service, job_id, events)
        write = _as_json if chosen == "json" else transcript
        text = write(job, events, texts, files)
    _write(output, text)


def _whole(service: Service, job_id: str, events: list[Event]) -> Texts:
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


def _written(service: Service, job_id: str, events: Sequence[Event]) -> Mapping[str, str]:
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


def _as_json(job: Job, events: Sequence[Event], texts: Texts, files: Mapping[str, str]) -> str:
    whole = {
        "format": FORMAT,
        "job": job,
        "events": [
            {"seq": e.seq, "at": e.at.isoformat(), "kind": e.kind, "data": e.data} for e in events
        ],
        "texts": {f"{run}/{part}": text for (run, part), text in texts.items()},
        "files": files,
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _write(output: Path | None, text: str) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{output} cannot be written", str(error.strerror)) from None
