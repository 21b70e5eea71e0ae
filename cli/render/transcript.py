"""A job's transcript as Markdown: its events as `fettle watch` shows them, with complete texts.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from api.http.foreign_text import signature
from api.quantities import duration, spent
from cli.client import Job
from cli.render.events import parts
from cli.render.evidence import FULL_DETAIL
from cli.render.part_formats import fenced, markdown_lines
from cli.render.review_events import override_note
from cli.render.texts import spend
from cli.render.work_events import file_parts
from fettle.events import ReceivedEvent

Texts = Mapping[tuple[str, str], str]
"""The full texts that events have in a short form, by the id of the run and the part of the run."""
LEFT_OUT = frozenset(
    {"started", "model_called", "step_started", "step_finished", "succeeded", "failed"}
)
"""Kinds of event that the head, the end and the runs of a transcript show already."""


def transcript(
    job: Job, events: Sequence[ReceivedEvent], texts: Texts, files: Mapping[str, str]
) -> str:
    """The complete job, in the order of its events. `files`: the texts of files that tools
    wrote, by digest."""
    text = [*_head(job)]
    for event in events:
        if event.kind not in LEFT_OUT:
            drawn = parts(_with_texts(event, texts), FULL_DETAIL)
            written = file_parts(event, lambda made: files.get(made["digest"]), FULL_DETAIL)
            for part in (*drawn, *written):
                text += markdown_lines(part)
    text += _end(job)
    return "\n".join(text).rstrip("\n") + "\n"


def _with_texts(event: ReceivedEvent, texts: Texts) -> ReceivedEvent:
    """The event with its full texts."""
    run = event.data.get("id") or event.data.get("run")
    full_texts = {
        part: text for (of, part), text in texts.items() if of == run and part in event.data
    }
    parts = {part: {**event.data[part], "text": text} for part, text in full_texts.items()}
    return replace(event, data={**event.data, **parts})


def _head(job: Job) -> Iterator[str]:
    yield from (f"# Job {job['id']}", "", *_table(job), "", "## Task", "")
    yield from (*fenced(job["spec"]["task"], "text"), "", "## What happened", "")


def _table(job: Job) -> Iterator[str]:
    status = job["status"] + (f" ({reason})" if (reason := _reason(job)) else "")
    submitter = signature(job.get("submitted_by") or "unknown", job.get("person"))
    rows = {
        "status": status,
        "model": job["spec"].get("model") or "the worker's default",
        "submitted": f"{job['created_at']}, by {submitter}",
        "finished": job["finished_at"] or "not yet",
        "worked": duration(job["ran_seconds"]),
        "cost": spend(job["cost"]["total"]),
    }
    yield from ("| | |", "|---|---|")
    yield from (f"| {name} | {_cell(value)} |" for name, value in rows.items())


def _end(job: Job) -> Iterator[str]:
    yield from ("## End", "")
    yield from (f"{job['status']}, {_approval(job)}", "")
    if job["detail"]:
        yield from (*fenced(job["detail"], "text"), "")
    yield from ("| role | calls | tokens in | tokens out | cost |", "|---|---|---|---|---|")
    for role, paid in {**job["cost"]["roles"], "all": job["cost"]["total"]}.items():
        cells = (role, paid["calls"], paid["input_tokens"], paid["output_tokens"])
        yield f"| {' | '.join(map(str, cells))} | {spent(paid)} |"


def _approval(job: Job) -> str:
    if by := (job["result"] or {}).get("approved_by"):
        return f"approved by {by}{override_note(job)}"
    accepted = job["status"] == "succeeded" and job.get("unapproved")
    return "accepted without approval" if accepted else "not approved"


def _reason(job: Job) -> str:
    return job["reason"] or ("unapproved" if job.get("unapproved") else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
