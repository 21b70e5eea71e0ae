"""`fettle compare`: the outcomes of jobs in one table, and the differences of their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from api.http.foreign_text import first_line, visible_path
from api.quantities import duration, spent
from cli.context import open_service
from cli.output import Screen, print_json
from cli.render.texts import printable


@click.command()
@click.argument("job_ids", metavar="ID ID...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON object.")
@click.pass_obj
def compare_command(flags: Mapping[str, Any], job_ids: tuple[str, ...], *, as_json: bool) -> None:
    """Compare two to six jobs: verdict, checks, cost, running time and model calls of each, and how
    the files of each differ from those of the first."""
    if len(job_ids) < 2:
        raise click.UsageError("name two jobs or more")
    with open_service(flags) as service:
        comparison = service.compare(job_ids)
    if as_json:
        print_json(comparison)
        return
    screen, columns = Screen(), [_cells(job) for job in comparison["jobs"]]
    heads = ("", *(job["id"] for job in comparison["jobs"]))
    screen.rows(heads, ((name, *(cells[name] for cells in columns)) for name in columns[0]))
    for difference in comparison["differences"]:
        screen.text(f"\nfiles of {difference['job_id']}, compared with those of {heads[1]}")
        for file in difference["files"]:
            notes = ", ".join([*map(printable, file["notes"]), *filter(None, [file["unread"]])])
            screen.text(f"{visible_path(file['path'])}{f' ({notes})' if notes else ''}")
            if file["diff"]:
                screen.patch(file["diff"].encode())
        if not difference["files"]:
            screen.text(difference["problem"] or "all files are the same")


def _cells(job: Mapping[str, Any]) -> dict[str, str]:
    """The rows of a job's column, by their names."""
    verdict, checks, cost = job["verdict"], job["checks"], job["cost"]
    reason = f"{verdict['level']}: {verdict['reason']}" if verdict else "none yet"
    return {
        "task": first_line(printable(job["task"]), 60),
        "model": job["model"] or "the workers' default",
        "status": job["status"],
        "verdict": printable(reason),
        "checks": f"{checks['passed']} of {checks['total']} passed" if checks else "none",
        "cost": spent(cost),
        "running time": duration(job["ran_seconds"]),
        "model calls": f"{cost['calls']:,}",
    }
