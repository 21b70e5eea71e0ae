"""A job's transcript as Markdown. Pure, over what the API tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from api.quantities import duration, money
from cli.events import Event
from cli.render.words import spend
from cli.service import Job

Texts = Mapping[tuple[int, str], str]
"""Whole texts of runs that are told cut, by run's number and part."""

_TICKS = re.compile(r"`{3,}")
_LANGUAGES = {"python": "python", "shell": "bash"}


def transcript(job: Job, events: Sequence[Event], texts: Texts) -> str:
    """The whole job in the order in which it happened."""
    lines = [*_head(job)]
    for event in events:
        lines += _TOLD[event.kind](event.data, texts) if event.kind in _TOLD else ()
    lines += _end(job)
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(job: Job) -> Iterator[str]:
    yield from (f"# Job {job['id']}", "", *_table(job), "", "## Task", "")
    yield from (*_fenced(job["spec"]["task"], "text"), "")


def _table(job: Job) -> Iterator[str]:
    status = job["status"] + (f" ({job['reason']})" if job["reason"] else "")
    told = {
        "status": status,
        "model": job["spec"].get("model") or "the worker's default",
        "submitted": f"{job['created_at']}, by {job.get('submitted_by') or 'unknown'}",
        "finished": job["finished_at"] or "not yet",
        "worked": duration(job["ran_seconds"]),
        "cost": spend(job["cost"]["total"]),
    }
    yield from ("| | |", "|---|---|")
    yield from (f"| {name} | {_cell(value)} |" for name, value in told.items())


def _planned(data: Mapping[str, Any], _: Texts) -> Iterator[str]:
    yield from ("## Plan", "")
    yield from (f"{number}. {step}" for number, step in enumerate(data["steps"], 1))
    yield from ((f"\n({data['note']})", "") if data.get("note") else ("",))


def _ran(data: Mapping[str, Any], texts: Texts) -> Iterator[str]:
    tool = data.get("tool", "python")
    end = f"exit code {data['exit_code']}" if data["end"] == "exited" else data["end"]
    by = "" if data["by"] == "executor" else f", by {data['by']}"
    yield from (f"## Run {data['id']} ({tool}{by}): {end}, {duration(data['seconds'])}", "")
    for part in ("code", "stdout", "stderr"):
        text = texts.get((data["number"], part), data[part]["text"])
        if text.strip():
            language = _LANGUAGES.get(tool, "text") if part == "code" else "text"
            yield from ((f"{part}:", "") if part != "code" else ())
            yield from (*_fenced(text, language), "")
    if failure := data.get("failure"):
        yield from (f"Failure: {failure['class']}: {failure['cause']}", "")
    if made := [file["name"] for file in data["artifacts"]]:
        yield from (f"Files: {', '.join(f'`{name}`' for name in made)}", "")


def _used(data: Mapping[str, Any], _: Texts) -> Iterator[str]:
    path = f" `{data['path']}`" if data.get("path") else ""
    note = "" if data["ok"] else f": {data['note']}"
    yield from (f"* {data['tool']}{path}{note}", "")


def _answered(data: Mapping[str, Any], _: Texts) -> Iterator[str]:
    yield from (f"## Answer, revision {data['revision']}", "", data["text"], "")


def _repaired(data: Mapping[str, Any], _: Texts) -> Iterator[str]:
    yield from (f"## Repair of {data['of']} in {data['run']}: {data['class']}", "")
    yield from (str(data["cause"]), "")
    if data.get("diff"):
        yield from (*_fenced(str(data["diff"]), "diff"), "")


def _checked(data: Mapping[str, Any], _: Texts) -> Iterator[str]:
    word = "passed" if data["passed"] else "not passed"
    yield from (f"## Checks: {word}", "")
    yield from (f"* {test['outcome']} `{test['id']}`" for test in data["tests"])
    yield ""


def _critiqued(data: Mapping[str, Any], _: Texts) -> Iterator[str]:
    on = f", resting on {data['run']}" if data.get("run") else ""
    yield from (f"## Verdict, revision {data['revision']}: {data['verdict']}{on}", "")
    for text in (data.get("feedback"), data.get("overruled") and f"Overruled: {data['overruled']}"):
        if text:
            yield from (str(text), "")


def _decided(data: Mapping[str, Any], _: Texts) -> Iterator[str]:
    yield from (f"## Decision: {data['action']}, by {data['by']}", "")
    if data.get("feedback"):
        yield from (str(data["feedback"]), "")


def _opened(data: Mapping[str, Any], _: Texts) -> Iterator[str]:
    yield from (f"* a person is asked ({data['kind']})", "")


def _lost(data: Mapping[str, Any], _: Texts) -> Iterator[str]:
    yield from (f"* worker {data['worker']} was lost; another goes on", "")


def _anew(data: Mapping[str, Any], _: Texts) -> Iterator[str]:
    yield from (f"* begun anew by {data['by']}: what stands above was given up", "")


def _end(job: Job) -> Iterator[str]:
    yield from ("## End", "")
    result = job["result"]
    by = result.get("approved_by") if result else None
    yield from (f"{job['status']}, {f'approved by {by}' if by else 'approved by nobody'}", "")
    if job["detail"]:
        yield from (*_fenced(job["detail"], "text"), "")
    yield from ("| role | calls | tokens in | tokens out | cost |", "|---|---|---|---|---|")
    for role, paid in {**job["cost"]["roles"], "all": job["cost"]["total"]}.items():
        cells = (role, paid["calls"], paid["input_tokens"], paid["output_tokens"])
        yield f"| {' | '.join(map(str, cells))} | {money(paid['cost_usd'])} |"


def _fenced(text: str, language: str) -> Iterator[str]:
    """A block whose fence is longer than any in the text."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    yield from (f"{fence}{language}", text.rstrip("\n"), fence)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


_TOLD = {
    "planned": _planned,
    "run_finished": _ran,
    "tool_used": _used,
    "answered": _answered,
    "repaired": _repaired,
    "checked": _checked,
    "critiqued": _critiqued,
    "decided": _decided,
    "review_opened": _opened,
    "lease_lost": _lost,
    "begun_anew": _anew,
}
