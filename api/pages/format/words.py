"""Times, costs and endings as text. Pure."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from api.http import foreign_text
from api.quantities import plural
from jobs.model import spec
from jobs.view.verdict import Level

_UNITS = (("day", 86_400), ("h", 3_600), ("min", 60))
STATUS = {
    "queued": "queued",
    "running": "running",
    "awaiting_review": "in review",
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
}

VERDICT = {
    Level.GREEN: "evidence holds",
    Level.AMBER: "caution",
    Level.RED: "evidence fails",
    Level.GREY: "no evidence",
}
"""The level of a verdict in words, for people who do not see its color."""

_ENDS = {
    "timeout": "stopped: it ran for too long",
    "cpu": "stopped: it used too much processor time",
    "memory": "stopped: it used too much memory",
    "output": "stopped: it printed far more than is kept",
    "disk": "stopped: its files took too much space",
    "processes": "failed: it had reached its limit of processes and threads",
    "killed": "stopped: it was killed from outside",
}


def first_line(text: str, width: int = 160) -> str:
    """An untrusted text's first line, cut to a width."""
    return foreign_text.first_line(foreign_text.visible(text), width)


def json_text(value: object) -> str:
    """The value as JSON in one line, with invisible characters as escapes."""
    return foreign_text.visible(json.dumps(value, ensure_ascii=False))


def repository_name(url: str) -> str:
    """The name of a repository, for a page."""
    return first_line(spec.repository_name(url), 80)


def roughly(value: float) -> str:
    """A duration in its largest unit: `3 days`, `2 h`, `5 min`, `under a minute`."""
    for unit, length in _UNITS:
        if value >= length:
            count = int(value // length)
            return plural(count, unit) if unit == "day" else f"{count} {unit}"
    return "under a minute"


def moment(iso: str | None) -> str:
    """A time in UTC: `2026-11-22 07:40`."""
    return iso[:16].replace("T", " ") if iso else ""


def since(iso: str, now: datetime | None = None) -> float:
    """Seconds since a time."""
    return ((now or datetime.now(UTC)) - datetime.fromisoformat(iso)).total_seconds()


def ending(run: Any) -> str:
    """How a run ended."""
    if run["end"] == "exited":
        return f"exit {run['exit_code']}"
    if run["end"] == "signaled":
        return f"killed by signal {run['signal']}"
    return _ENDS.get(run["end"], str(run["end"]))


def failure(run: Any) -> str:
    """The kind of a run's failure: `Tests failed: 1 of 3`, `type`; empty if it is unknown."""
    counts = (run["tests"] or {}).get("counts", {}) if "tests" in run else {}
    if failing := counts.get("failed", 0) + counts.get("error", 0):
        return f"Tests failed: {failing} of {sum(counts.values())}"
    kind = run["failure"]["class"].replace("_", " ")
    return "" if kind == "unknown" else str(kind)


def offset(value: float) -> str:
    """Time since a job's start: `0:07`, `12:30`, `2:05:00`."""
    minutes, seconds = divmod(int(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
