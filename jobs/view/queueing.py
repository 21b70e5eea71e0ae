"""Why a queued job does not run, from its record and from the announcements of workers. Pure.

`explain_queued` returns the first reason that applies: the job rests, another job of its
conversation comes first, there is no worker, no worker works, no worker can resume the job, all
slots are busy. A text never has a host's name or an address, because tenants read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jobs.model.record import JobRecord, Status
from jobs.transitions.upgrade import abandoned_format

QueueReason = Literal[
    "rests", "in_line", "no_worker", "broken_workers", "other_release", "busy", "next"
]
PARTS = {"sandbox": "sandbox", "storage": "artifact store", "default_model": "default model"}
"""The parts without which a worker takes no job: the field of its announcement, and the name for
users."""


@dataclass(frozen=True, slots=True)
class FleetState:
    """The workers that were seen lately."""

    workers: Sequence[Mapping[str, Any]]
    """Their announcements."""
    running: int
    """The number of jobs that run on them, of all tenants."""
    line_head: str | None = None
    """The id of the first job in the line of the job's conversation. None: not looked up."""
    place: int | None = None
    """The place of the job among the queued jobs of its tenant, from 1. None: not looked up."""


def explain_queued(record: JobRecord, fleet: FleetState, now: int) -> dict[str, Any] | None:
    """{reason, text, place} of a queued job; None in another state."""
    if record.status is not Status.QUEUED:
        return None
    reason, text = _reason(record, fleet, now)
    place = None if reason in ("rests", "in_line") else fleet.place
    if place is not None:
        text = f"{text}; place {place:,} in the queue of your tenant"
    return {"reason": reason, "text": text, "place": place}


def _reason(record: JobRecord, fleet: FleetState, now: int) -> tuple[QueueReason, str]:
    if record.rests(now):
        cause = f"for {record.wait.on}, " if record.wait else ""
        return "rests", f"waits {cause}until its next try"
    if fleet.line_head not in (None, record.id):
        return "in_line", f"job {fleet.line_head} of its conversation comes first"
    if not fleet.workers:
        return "no_worker", "no worker is running"
    working = [worker for worker in fleet.workers if not broken_parts(worker)]
    if not working:
        parts = {PARTS[part] for worker in fleet.workers for part in broken_parts(worker)}
        return "broken_workers", f"no worker can take jobs: {', '.join(sorted(parts))} out of order"
    able = [worker for worker in working if abandoned_format(record, worker) is None]
    if not able:
        return "other_release", "no running worker can resume it: it was begun by another release"
    slots = sum(worker.get("slots", 1) for worker in able)
    if fleet.running >= slots:
        return "busy", f"the workers are busy: {fleet.running} jobs run, {slots} can"
    return "next", "a worker takes it next"


def broken_parts(worker: Mapping[str, Any]) -> list[str]:
    """The parts of a worker that do not work. Workers of Fettle 0.1.0 do not announce every
    part."""
    return [part for part in PARTS if not worker.get(part, {}).get("works", True)]
