"""Lists of jobs, and the thread of a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from api.http.foreign_text import first_line
from api.quantities import plural
from cli.output import Screen
from cli.render.job import answer_parts
from cli.render.parts import Line, Part, Prose, Tone
from cli.render.texts import printable, waits_text


def show_jobs(screen: Screen, page: Mapping[str, Any]) -> None:
    """Show a page of jobs, one a row."""
    now = datetime.now(UTC)
    screen.rows(("ID", "STATUS", "AGE", "TASK"), (_job_row(job, now) for job in page["jobs"]))
    listed = len(page["jobs"])
    if screen.drawing and page["total"] > listed:
        screen.text(f"{listed} of {page['total']}; --offset shows more", "dim")


def _job_row(job: Mapping[str, Any], now: datetime) -> tuple[str, str, str, str]:
    age = now - datetime.fromisoformat(job["created_at"])
    task = first_line(printable(job["task"]), 60)
    marks = [mark for mark in ("unapproved", "override") if job.get(mark)]
    if verdict := (job.get("review") or {}).get("verdict"):
        marks.append(f"evidence {verdict['level']}")
    if assignee := (job.get("review") or {}).get("assignee"):
        marks.append(f"claimed by {printable(assignee)}")
    status = ", ".join([job["status"], *marks])
    if waits := job.get("waits"):
        status = f"{status}, {waits_text(waits, now)}"
    elif (queued := job.get("queued")) and queued["reason"] not in ("busy", "next"):
        status = f"{status}, {printable(queued['text'])}"
    return job["id"], status, _age(age.total_seconds()), task


def _age(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(int(seconds), 0)}s"


def thread_parts(thread: Mapping[str, Any], most: int | None = None) -> Iterator[Part]:
    """The tasks and the answers of a conversation, as `GET /conversations/{id}` has it. With
    `most`: in short, and only the newest `most` jobs."""
    jobs = thread["jobs"] if most is None else thread["jobs"][-most:]
    if older := thread["total"] - len(jobs):
        yield Line("earlier", plural(older, "job"), Tone.QUIET)
    for job in jobs:
        task, answer = printable(job["task"]), printable(job["answer"])
        yield Line("task", first_line(task), Tone.ASK)
        if most is None and task.strip() != first_line(task):
            yield Prose(task)
        if most is None:
            yield from answer_parts(job["answer"])
        status = job["status"].replace("_", " ")
        is_good = job["status"] == "succeeded" and not job.get("unapproved")
        shown_answer = f": {first_line(answer)}" if most is not None and answer else ""
        tone = Tone.GOOD if is_good else Tone.WARN
        yield Line(status, f"{job['id']}{shown_answer}", tone)
