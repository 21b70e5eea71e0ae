"""`fettle list`: jobs, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from api.http.foreign_text import first_line
from cli.context import open_service
from cli.output import Screen, print_json
from cli.render.words import printable, waits_text

STATUSES = ("queued", "running", "awaiting_review", "succeeded", "failed", "cancelled")


@click.command()
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True)
@click.option("--status", type=click.Choice(STATUSES), help="Only jobs in this state.")
@click.option("--label", metavar="WORD", help="Only jobs with this label.")
@click.option("--text", metavar="WORDS", help="Only jobs whose task, labels or id have these.")
@click.option("--waiting", is_flag=True, help="Only what waits for your decision.")
@click.option("--kind", type=click.Choice(["task", "verification"]), help="What jobs do.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(flags: Mapping[str, Any], /, *, as_json: bool, waiting: bool, **query: Any) -> None:
    """List jobs, newest first; with --waiting, the oldest first."""
    with open_service(flags) as service:
        page = service.jobs(**query, waiting="me" if waiting else None)
        if as_json:
            print_json(page)
        else:
            _show(Screen(), page)


def _show(screen: Screen, page: Mapping[str, Any]) -> None:
    now = datetime.now(UTC)
    screen.rows(("ID", "STATUS", "AGE", "TASK"), (_row(job, now) for job in page["jobs"]))
    shown = len(page["jobs"])
    if screen.drawing and page["total"] > shown:
        screen.text(f"{shown} of {page['total']}; --offset shows more", "dim")


def _row(job: Mapping[str, Any], now: datetime) -> tuple[str, str, str, str]:
    age = now - datetime.fromisoformat(job["created_at"])
    task = first_line(printable(job["task"]), 60)
    status = f"{job['status']}, unapproved" if job.get("unapproved") else job["status"]
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
