"""A job's transcript as Markdown. Pure, over what the API tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from api.quantities import duration, money
from cli.client.events import Event
from cli.client.service import Job
from cli.render.transcript_events import Texts, fenced, told
from cli.render.words import spend


def transcript(job: Job, events: Sequence[Event], texts: Texts) -> str:
    """The whole job in the order in which it happened."""
    lines = [*_head(job)]
    for event in events:
        lines += told(event, texts)
    lines += _end(job)
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(job: Job) -> Iterator[str]:
    yield from (f"# Job {job['id']}", "", *_table(job), "", "## Task", "")
    yield from (*fenced(job["spec"]["task"], "text"), "")


def _table(job: Job) -> Iterator[str]:
    status = job["status"] + (f" ({why})" if (why := _why(job)) else "")
    rows = {
        "status": status,
        "model": job["spec"].get("model") or "the worker's default",
        "submitted": f"{job['created_at']}, by {job.get('submitted_by') or 'unknown'}",
        "finished": job["finished_at"] or "not yet",
        "worked": duration(job["ran_seconds"]),
        "cost": spend(job["cost"]["total"]),
    }
    yield from ("| | |", "|---|---|")
    yield from (f"| {name} | {_cell(value)} |" for name, value in rows.items())


def _end(job: Job) -> Iterator[str]:
    yield from ("## End", "")
    result = job["result"]
    by = result.get("approved_by") if result else None
    yield from (f"{job['status']}, {f'approved by {by}' if by else 'approved by nobody'}", "")
    if job["detail"]:
        yield from (*fenced(job["detail"], "text"), "")
    yield from ("| role | calls | tokens in | tokens out | cost |", "|---|---|---|---|---|")
    for role, paid in {**job["cost"]["roles"], "all": job["cost"]["total"]}.items():
        cells = (role, paid["calls"], paid["input_tokens"], paid["output_tokens"])
        yield f"| {' | '.join(map(str, cells))} | {money(paid['cost_usd'])} |"


def _why(job: Job) -> str:
    return job["reason"] or ("unapproved" if job.get("unapproved") else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
