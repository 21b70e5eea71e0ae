"""`fettle run --batch` and `fettle batch`: many jobs together."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from api.http.foreign_text import first_line
from api.quantities import plural
from api.schemas.batch import MAX_JOBS
from cli.context import open_service
from cli.exit_codes import DETACHED, DONE, FAILED, exit_code_of
from cli.output import Screen, print_json
from cli.parameters import parse_json
from cli.render.parts import Tone
from cli.render.texts import printable
from fettle import Service
from fettle.errors import ServiceUnreachable

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
            fields = parse_json(line)
            json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()  # NaN, surrogates
        except ValueError as error:
            problems[number] = {"title": "The line cannot be read as JSON", "detail": str(error)}
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
    ended_jobs: Mapping[str, Mapping[str, Any]] = {}
    batch_id = ""
    try:
        if tasks.requests:
            receipt = _submit(service, list(tasks.requests.values()), key, screen)
            batch_id = receipt["id"]
            answers = dict(zip(tasks.requests, receipt["jobs"], strict=True))
            jobs = {number: answer["job"] for number, answer in answers.items() if answer["job"]}
            problems |= {
                number: answer["problem"] for number, answer in answers.items() if not answer["job"]
            }
        for number, problem in sorted(problems.items()):
            screen.line(f"line {number}", f"{problem['title']}: {_detail(problem)}")
        if jobs:
            screen.line("batch", f"{batch_id}: {plural(len(jobs), 'job')}")
            screen.line("page", f"{service.url}/app/jobs?batch={batch_id}", Tone.QUIET)
        if jobs and not no_wait:
            ended_jobs = _follow(service, batch_id, screen)
    except (KeyboardInterrupt, ServiceUnreachable) as interruption:
        screen.text()
        if batch_id:
            screen.line("detached", f"the jobs go on; `fettle batch {batch_id}` counts them,")
            screen.line("", f"`fettle batch {batch_id} --cancel` ends them")
        else:
            screen.line("detached", f"some jobs may exist: continue with --key {key}")
        if isinstance(interruption, ServiceUnreachable):
            raise
        return DETACHED
    rows = {number: ended_jobs.get(job["id"], job) for number, job in sorted(jobs.items())}
    if as_json:
        for number in sorted({*rows, *problems}):
            outcome = {"job": rows[number]} if number in rows else {"problem": problems[number]}
            print_json({"line": number, **outcome})
    else:
        _show_jobs(rows.values(), only_ids=no_wait)
    is_done = no_wait or all(
        job["id"] in ended_jobs and exit_code_of(job) == DONE for job in rows.values()
    )
    return DONE if is_done and not problems else FAILED


def _submit(
    service: Service, requests: Sequence[Mapping[str, Any]], key: str, screen: Screen
) -> Mapping[str, Any]:
    """Submit the batch until no problem is retryable. Returns the receipt."""
    while (receipt := service.submit_batch(requests, once=key))["retryable"]:
        problems = (answer["problem"] for answer in receipt["jobs"] if not answer["job"])
        reason = next(problem["title"] for problem in problems if problem["retryable"])
        message = f"{plural(receipt['retryable'], 'job')} left: {reason}"
        with screen.waiting(printable(message)):
            time.sleep(RETRY_SECONDS)
    return receipt


def _follow(service: Service, batch_id: str, screen: Screen) -> Mapping[str, Mapping[str, Any]]:
    """Show the state of the batch until all of its jobs have ended. Returns the jobs by id."""
    shown_counts = None
    with screen.console.status("", spinner_style="cyan") as status:  # it is empty in a pipe
        while not (batch := service.batch(batch_id))["ended"]:
            status.update(Text(f"{_counts_text(batch)}; cost {_cost_text(batch)}", "dim"))
            if not screen.drawing and batch["counts"] != shown_counts:
                screen.line("jobs", _counts_text(batch))
                shown_counts = batch["counts"]
            time.sleep(POLL_SECONDS)
    _show_batch(screen, batch)
    return {job["id"]: job for job in service.all_jobs("/jobs", PAGE, batch=batch_id)}


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


def _show_jobs(jobs: Iterable[Mapping[str, Any]], *, only_ids: bool) -> None:
    if only_ids:
        for job in jobs:
            click.echo(job["id"])
        return
    rows = [
        (job["id"], job.get("reason") or job["status"], first_line(printable(job["task"]), 60))
        for job in jobs
        if "task" in job  # a job that was removed has no task
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
