"""The state of a job as HTML, and a display in a notebook that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from importlib import import_module
from typing import Any

from fettle import types
from fettle.errors import FettleError

SHOWN_CHARACTERS = 2_000
"""The most characters of an output; they are its end."""
MARKS = {"done": "&#10003;", "begun": "&#9656;"}
"""The marks of a plan's steps by their state. A step that has not begun has no mark."""


def open_display(content: Any) -> Any:
    """Show an object in the notebook. The display has `update(object)`. Raises FettleError."""
    try:
        display = import_module("IPython.display").display
    except ImportError:
        raise FettleError(
            "there is no notebook here: IPython is not installed",
            remedy="call watch in a notebook, or read the events of the job",
        ) from None
    return display(content, display_id=True)


def job_html(job: types.Job | None, job_id: str, page: str, paths: Iterable[str] = ()) -> str:
    """State, plan, last run, evidence, verdict, cost and `paths` of files; None: not read yet."""
    return f"<div>{''.join(_parts(job, job_id, page, paths))}</div>"


def _parts(job: types.Job | None, job_id: str, page: str, paths: Iterable[str]) -> Iterator[str]:
    state = "" if job is None else job.status.replace("_", " ")
    yield f'<b>{escape(state)}</b> <a href="{escape(page)}">job {escape(job_id)}</a>'
    if job is None:
        return
    spend = job.cost.total
    cost = f"{'at least ' if spend.cost_usd is None else ''}${spend.known_usd:f}"
    yield f" &middot; {cost}<p>{escape(job.spec.task)}</p>"
    if job.plan is not None:
        yield f"<ol>{''.join(_steps(job.plan))}</ol>"
    if job.runs:
        yield _run(job.runs[-1])
    if job.verification is not None:
        problem = job.verification.problem or ""
        text = "the verification succeeded" if job.verification.holds else problem
        yield _line("evidence", text)
    if job.critique is not None:
        yield _line("verdict", f"{job.critique.verdict}. {job.critique.feedback}")
    if job.reason is not None:
        yield _line(job.reason, job.detail)
    if job.result is not None:
        yield _line("answer", job.result.answer)
    if names := ", ".join(paths):
        yield _line("files", names)


def _steps(plan: types.Plan) -> Iterator[str]:
    progress = plan.progress or [""] * len(plan.steps)
    for step, state in zip(plan.steps, progress, strict=False):
        yield f"<li>{escape(step)} {MARKS.get(state, '')}</li>"


def _run(run: types.Run) -> str:
    output = (run.stdout.text + run.stderr.text)[-SHOWN_CHARACTERS:]
    end = f"exit {run.exit_code}" if run.end == "exited" else run.end
    return _line(f"run {run.number}", end) + f"<pre>{escape(output)}</pre>"


def _line(label: str, text: str) -> str:
    return f"<p><b>{escape(label)}</b> {escape(text)}</p>"
