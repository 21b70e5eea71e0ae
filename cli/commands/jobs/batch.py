"""`fettle run --batch` and `fettle batch`: many jobs together."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.live import Live
from rich.table import Table

from api.http.foreign_text import first_line
from api.quantities import plural
from cli.context import open_service
from cli.exit_codes import DETACHED, DONE, FAILED, exit_code_of
from cli.output import Screen, print_json
from cli.render.texts import printable
from fettle import Service

MAX_JOBS = 500
POLL_SECONDS = 2.0
RETRY_SECONDS = 5.0
"""The time until refused jobs are submitted again, for example because the queue was full."""
PAGE = 100


@dataclass(frozen=True, slots=True)
class TaskFile:
    """The requests of a file of tasks."""

    requests: Mapping[int, dict[str, Any]]
    """By the number of the line, from 1."""
    problems: Mapping[int, dict[str, Any]]
    """{title, detail} of each line that is no request."""


def read_batch(path: Path, defaults: Mapping[str, Any]) -> TaskFile:
    """Read a file of tasks. `defaults`: the fields of all requests; a line may replace them. Raises
    click.BadParameter."""
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise _bad(f"{path}: {error.strerror}") from None
    requests, problems = {}, {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except ValueError as error:
            problems[number] = {"title": "The line is not JSON", "detail": str(error)}
            continue
        if isinstance(fields, dict):
            requests[number] = {**defaults, **fields}
        else:
            detail = 'write an object, as in {"task": "Write a heap"}'
            problems[number] = {"title": "The line is not a JSON object", "detail": detail}
    if not requests and not problems:
        raise _bad(f"{path} has no tasks")
    if len(requests) > MAX_JOBS:
        raise _bad(f"{path} has {len(requests)} tasks, and a batch at most {MAX_JOBS}: split it")
    return TaskFile(requests, problems)


def run_batch(
    service: Service, tasks: TaskFile, key: str | None, *, no_wait: bool, as_json: bool
) -> int:
    """Submit the tasks, follow their jobs to the end, and list them. Returns the exit code: 0 only
    if each line has a job, and each job has succeeded with an approval."""
    screen = Screen(stderr=True)
    key = key or secrets.token_hex(16)
    jobs: dict[int, Mapping[str, Any]] = {}
    problems = dict(tasks.problems)
    batch_id = ""
    try:
        if tasks.requests:
            batch_id = _submit(service, tasks, key, screen, jobs, problems)
        for number, problem in sorted(problems.items()):
            screen.line(f"line {number}", f"{problem['title']}: {_detail(problem)}")
        if jobs:
            screen.line("batch", f"{batch_id}: {plural(len(jobs), 'job')}")
        if jobs and not no_wait:
            _follow(service, batch_id, screen)
    except KeyboardInterrupt:
        screen.text()
        if batch_id:
            screen.line("detached", f"the jobs go on; `fettle batch {batch_id}` counts them,")
            screen.line("", f"`fettle batch {batch_id} --cancel` ends them")
        else:
            screen.line("detached", f"some jobs may exist: continue with --key {key}")
        return DETACHED
    final_jobs = {} if no_wait or not jobs else _jobs_of(service, batch_id)
    rows = {number: final_jobs.get(job["id"], job) for number, job in jobs.items()}
    if as_json:
        for number in sorted({*rows, *problems}):
            outcome = {"job": rows[number]} if number in rows else {"problem": problems[number]}
            print_json({"line": number, **outcome})
    elif no_wait:
        click.echo("".join(f"{job['id']}\n" for _, job in sorted(rows.items())), nl=False)
    else:
        _show_jobs([job for _, job in sorted(rows.items())])
    is_done = no_wait or all(
        job["id"] in final_jobs and exit_code_of(job) == DONE for job in rows.values()
    )
    return DONE if is_done and not problems else FAILED


def _submit(
    service: Service,
    tasks: TaskFile,
    key: str,
    screen: Screen,
    jobs: dict[int, Mapping[str, Any]],
    problems: dict[int, dict[str, Any]],
) -> str:
    """Submit the batch until no problem is retryable. Adds to `jobs` and `problems`, by the number
    of their line. Returns the id of the batch."""
    numbers = list(tasks.requests)
    while True:
        receipt = service.submit_batch(list(tasks.requests.values()), once=key)
        jobs |= {numbers[row["index"]]: row["job"] for row in receipt["jobs"] if row["job"]}
        if not receipt["retryable"]:
            break
        reason = next(row["problem"] for row in receipt["jobs"] if _is_retryable(row))
        message = f"{plural(receipt['retryable'], 'job')} left: {reason['title']}"
        with screen.waiting(printable(message)):
            time.sleep(RETRY_SECONDS)
    problems |= {numbers[row["index"]]: row["problem"] for row in receipt["jobs"] if not row["job"]}
    return str(receipt["id"])


def _is_retryable(row: Mapping[str, Any]) -> bool:
    return row["job"] is None and bool(row["problem"]["retryable"])


def _follow(service: Service, batch_id: str, screen: Screen) -> None:
    """Show the state of the batch until all of its jobs have ended."""
    live = Live(console=screen.console, transient=True) if screen.drawing else nullcontext()
    shown_counts = None
    with live as table:
        while not (batch := service.batch(batch_id))["ended"]:
            if table is not None:
                table.update(_table(batch))
            elif batch["counts"] != shown_counts:
                screen.line("jobs", _counts_text(batch))
                shown_counts = batch["counts"]
            time.sleep(POLL_SECONDS)
    _show_batch(screen, batch)


def _table(batch: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for status, count in batch["counts"].items():
        table.add_row(status.replace("_", " "), str(count))
    table.add_row("cost", _cost_text(batch))
    return table


def _show_batch(screen: Screen, batch: Mapping[str, Any]) -> None:
    screen.line("jobs", _counts_text(batch))
    screen.line("cost", _cost_text(batch))
    if batch["counts"].get("awaiting_review"):
        screen.line("reviews", f"`fettle list --batch {batch['id']} --status awaiting_review`")


def _counts_text(batch: Mapping[str, Any]) -> str:
    counts = batch["counts"].items()
    return ", ".join(f"{count} {printable(status).replace('_', ' ')}" for status, count in counts)


def _cost_text(batch: Mapping[str, Any]) -> str:
    amount = f"${batch['known_usd']}"
    return amount if batch["cost_usd"] is not None else f"more than {amount}: a price is unknown"


def _jobs_of(service: Service, batch_id: str) -> dict[str, Mapping[str, Any]]:
    return {job["id"]: job for job in service.all_jobs("/jobs", PAGE, batch=batch_id)}


def _show_jobs(jobs: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        (job["id"], job.get("reason") or job["status"], first_line(printable(job["task"]), 60))
        for job in jobs
        if "task" in job
    ]
    Screen().rows(("ID", "STATUS", "TASK"), rows)


def _detail(problem: Mapping[str, Any]) -> str:
    errors = [f"{error['field']}: {error['message']}" for error in problem.get("errors") or ()]
    return printable("; ".join(errors) or problem.get("detail") or "")


def _bad(reason: str) -> click.BadParameter:
    return click.BadParameter(reason, param_hint="--batch")


@click.command()
@click.argument("batch_id", metavar="ID")
@click.option("--cancel", is_flag=True, help="Cancel the jobs that have not ended.")
@click.option("--json", "as_json", is_flag=True, help="Print the batch as one JSON object.")
@click.pass_obj
def batch_command(flags: Mapping[str, Any], batch_id: str, *, cancel: bool, as_json: bool) -> None:
    """Count the jobs of the batch ID by status, with their cost so far. `fettle list --batch ID`
    lists them."""
    with open_service(flags) as service:
        batch = service.cancel_batch(batch_id) if cancel else service.batch(batch_id)
    if as_json:
        print_json(batch)
    else:
        _show_batch(Screen(), batch)
