"""`fettle list`: jobs, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from cli.context import open_service
from cli.render.words import first_line, printable
from cli.screen import Screen, print_json

STATUSES = ("queued", "running", "awaiting_review", "succeeded", "failed", "cancelled")


@click.command()
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True)
@click.option("--status", type=click.Choice(STATUSES), help="Only jobs in this state.")
@click.option("--label", metavar="WORD", help="Only jobs with this label.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(flags: Mapping[str, Any], /, *, as_json: bool, **query: Any) -> None:
    """List jobs, newest first."""
    with open_service(flags) as service:
        page = service.jobs(**query)
    if as_json:
        print_json(page)
        return
    screen = Screen()
    now = datetime.now(UTC)
    screen.rows(("ID", "STATUS", "AGE", "TASK"), (_row(job, now) for job in page["jobs"]))
    shown = len(page["jobs"])
    if screen.drawing and page["total"] > shown:
        screen.text(f"{shown} of {page['total']}; --offset shows more", "dim")


def _row(job: Mapping[str, Any], now: datetime) -> tuple[str, str, str, str]:
    age = now - datetime.fromisoformat(job["created_at"])
    task = first_line(printable(job["task"]), 60)
    return job["id"], job["status"], _age(age.total_seconds()), task


def _age(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(int(seconds), 0)}s"
